"""One first-order function as an LLVM function.

    define internal tailcc R @"name"(ptr %session, parameters...)

R is the first result; further ones are left in the session, as are parameters that do not fit into
registers. Blocks with parameters begin with phi instructions. A function that calls others (not in
tail position) first looks how much stack there is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.function_writer import Lines
from relay_tune.codegen.programs.arguments import take_parameters
from relay_tune.codegen.programs.entry_text import input_words
from relay_tune.codegen.programs.instruction_writer import InstructionWriter
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import INPUTS, OUTPUTS, STACK_LIMIT, TOO_DEEP
from relay_tune.codegen.programs.values import llvm_type, result_type
from relay_tune.program.instructions import Register
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderFunction
from relay_tune.program.terminators import (
    Branch,
    Fail,
    Jump,
    Return,
    TailCall,
    TailCallClosure,
    Terminator,
    TestLayout,
)


def function_text(function: FirstOrderFunction, module: ModuleWriter) -> str:
    """The text of a function; what it needs from the module is noted there."""
    return _FunctionText(function, module).text()


class _FunctionText:
    def __init__(self, function: FirstOrderFunction, module: ModuleWriter) -> None:
        self._function = function
        self._module = module
        self._objects = ObjectWriter(module)
        self._writer = self._objects.writer
        self._instructions = InstructionWriter(function, module, self._objects)
        self._names = self._objects.names
        self._incoming: dict[int, list[tuple[str, tuple[str, ...]]]] = {}

    def text(self) -> str:
        """The whole definition."""
        function = self._function
        start: Lines = ["entry:", self._objects.stack_slots]
        self._writer.lines.append(start)
        parameters = take_parameters(function.parameters, self._objects)
        if function.borrowed_inputs:
            self._read_lent_sizes()
        if function.results_in_place:
            self._find_results()
        if function.has_calls:
            self._write_stack_check()
        self._writer.line(f"br label %b{function.blocks[0].label}")
        for block in function.blocks:
            with self._writer.scope():
                self._writer.start_block(f"b{block.label}")
                self._write_phis(block.label, block.parameters)
                for instruction in block.instructions:
                    self._instructions.write(instruction)
                self._write_end(block.terminator)
        self._module.declarations |= self._writer.declarations
        head = (
            f"define internal tailcc {result_type(function.results)} "
            f'@"{function.name}"(ptr %session{parameters}) nounwind {{'
        )
        return f"{head}\n{self._writer.text()}\n}}"

    def _read_lent_sizes(self) -> None:
        """The sizes of tensors that are no objects: known, or from the table of inputs."""
        objects, parameters = self._objects, self._function.parameters
        table = objects.load("ptr", "%session", INPUTS)
        words = input_words([parameter.kind for parameter in parameters])
        for parameter, word in zip(parameters, words, strict=True):
            kind, name = parameter.kind, self._names[parameter]
            if parameter not in self._function.borrowed_inputs or not isinstance(kind, TensorKind):
                continue
            if not kind.is_open:
                objects.lent_sizes[name] = [str(extent) for extent in kind.shape]
                continue
            sizes = objects.load("ptr", table, 8 * (word + 1))
            objects.lent_sizes[name] = [
                objects.load("i64", sizes, 8 * axis) for axis in range(len(kind.type.shape))
            ]

    def _find_results(self) -> None:
        """The caller's memory for results that are no objects."""
        objects = self._objects
        table = objects.load("ptr", "%session", OUTPUTS)
        for register, number in self._function.results_in_place.items():
            assert isinstance(register.kind, TensorKind)  # numbers are returned
            elements = objects.load("ptr", table, 8 * number)
            name = objects.results_in_place[register] = objects.before_data(elements)
            objects.lent_sizes[name] = [str(extent) for extent in register.kind.shape]

    def _write_stack_check(self) -> None:
        writer = self._writer
        stack = writer.fresh()
        self._module.declarations.add("declare ptr @llvm.stackaddress.p0()")
        writer.line(f"{stack} = call ptr @llvm.stackaddress.p0()")
        limit = self._objects.load("ptr", "%session", STACK_LIMIT)
        is_low = writer.pure(f"icmp ult ptr {stack}, {limit}")
        writer.line(f"br i1 {is_low}, label %deep, label %enough, !prof !0")
        writer.start_block("deep")
        writer.line(f"call void @fail(ptr %session, i64 {TOO_DEEP})")
        writer.line("unreachable")
        writer.start_block("enough")

    def _write_phis(self, label: int, parameters: Sequence[Register]) -> None:
        incoming = self._incoming.get(label, [])
        for index, parameter in enumerate(parameters):
            name = self._writer.fresh("p")
            self._names[parameter] = name
            sources = ", ".join(f"[ {texts[index]}, %{block} ]" for block, texts in incoming)
            self._writer.line(f"{name} = phi {llvm_type(parameter.kind)} {sources}")

    def _write_end(self, end: Terminator) -> None:
        writer, names = self._writer, self._names
        match end:
            case Jump():
                texts = tuple(names[register] for register in end.arguments)
                self._incoming.setdefault(end.target, []).append((writer.block, texts))
                writer.line(f"br label %b{end.target}")
            case Branch():
                condition = names[end.condition]
                writer.line(f"br i1 {condition}, label %b{end.if_true}, label %b{end.if_false}")
            case TestLayout():
                number = self._objects.layout_number(end.object)
                fits = writer.pure(f"icmp eq i16 {number}, {end.layout.number}")
                writer.line(f"br i1 {fits}, label %b{end.if_true}, label %b{end.if_false}")
            case Return():
                self._instructions.write_return(end.values)
            case TailCall():
                call = self._instructions.call_text(end.function, end.arguments)
                self._write_tail_call(call)
            case TailCallClosure():
                call = self._instructions.closure_call_text(end.closure, end.arguments)
                self._write_tail_call(call)
            case Fail():
                error = self._module.message_number(end.message)
                writer.line(f"call void @fail(ptr %session, i64 {error})")
                writer.line("unreachable")

    def _write_tail_call(self, call: str) -> None:
        kind = result_type(self._function.results)
        if kind == "void":
            self._writer.line(f"musttail call tailcc void {call}")
            self._writer.line("ret void")
            return
        result = self._writer.fresh()
        self._writer.line(f"{result} = musttail call tailcc {kind} {call}")
        self._writer.line(f"ret {kind} {result}")
