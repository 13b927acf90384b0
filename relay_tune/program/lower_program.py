"""From a fused module to a first-order program.

before: def @main(%n: int32, %s: float32) {
          let %loop = fn (%i: int32, %a: float32) {
            if (%i < 1) { %a } else { %loop(%i - 1, %a * %s) }
          };
          %loop(%n, 1f)
        }
after:  function @main(n, s):            tail call @main/loop(s, n, 1f)
        function @main/loop(s, i, a):    ... tail call @main/loop(s, i - 1, a * s)

What a function literal captures becomes its leading parameters. Functions are lowered when they are
first needed, starting with the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Expr, Function, RefCreate
from relay_tune.ir.module import Module
from relay_tune.ir.output_names import named_outputs
from relay_tune.ir.trampoline import run
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType, unflatten
from relay_tune.program.appended_outputs import with_appended_outputs
from relay_tune.program.block_builder import BlockBuilder
from relay_tune.program.borrowed_inputs import with_borrowed_inputs
from relay_tune.program.defer_kernels import with_deferred_kernels
from relay_tune.program.extended_tensors import with_extended_tensors
from relay_tune.program.form_regions import with_regions
from relay_tune.program.function_table import FunctionTable
from relay_tune.program.instructions import ReadField, Register, RunKernel
from relay_tune.program.kinds import (
    Kind,
    ObjectKind,
    TensorKind,
    canonical,
    function_kinds,
    function_type,
    kinds_of,
)
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.lone_regions import LoneRegions
from relay_tune.program.lower_body import BodyLowering
from relay_tune.program.object_layouts import ObjectLayouts
from relay_tune.program.program import EntryPoint, FirstOrderFunction, FirstOrderProgram
from relay_tune.program.reference_counts import with_reference_counts
from relay_tune.program.results_in_place import with_results_in_place
from relay_tune.program.terminators import TailCall
from relay_tune.program.values import KnownFunction, Value, new_registers
from relay_tune.quick_dataclass import dataclass


def lower_program(module: Module) -> FirstOrderProgram:
    """The program of a fused, typed, monomorphic module.

    The layouts of values that are passed from and to outside come first, in an order that follows
    from their types. Raises NoNativeCodeError for what has no native form yet.
    """
    lowering = ProgramLowering(module)
    function = module.main
    type_ = function_type(function)
    data_types, cells = lowering.layouts.outside(*type_.params, type_.result)
    known = lowering.known_global("main")
    lowering.finish()
    inputs = {param.name: t for param, t in zip(function.params, type_.params, strict=True)}
    has_cells = any(isinstance(node, RefCreate) for node in post_order(*module.functions.values()))
    result = type_.result
    program = FirstOrderProgram(
        functions={name: with_reference_counts(f) for name, f in lowering.functions.items()},
        layouts=tuple(lowering.layouts.all),
        data_types=data_types,
        cells=cells,
        closure_code=lowering.closure_code,
        entry=EntryPoint(known.name, inputs, result, named_outputs(module, result)),
        types=module.types,
        has_cells=has_cells,
        is_open=_is_open(lowering),
    )
    deferred = with_deferred_kernels(program)
    lone = LoneRegions()
    if deferred.batches:  # kernels run one by one, as soon as enough of them wait
        alone = {name: lone.function(function) for name, function in deferred.functions.items()}
        return replace(deferred, functions=alone)
    entry, functions = program.entry, dict(lowering.functions)
    is_outer = program.outer_function is not None
    if is_outer:
        functions[known.name], appended = with_appended_outputs(functions[known.name])
        entry = replace(entry, appended=appended)
    regions = {
        name: with_regions(with_extended_tensors(function, is_outer and name == known.name), lone)
        for name, function in functions.items()
    }
    counted = {name: with_reference_counts(function) for name, function in regions.items()}
    whole = replace(program, functions=counted, entry=entry)
    return with_results_in_place(with_borrowed_inputs(whole))


def described_program(module: Module, type_: FuncType, inputs: Sequence[str]) -> FirstOrderProgram:
    """A program of which only the type and the data types of `module` are known."""
    wanted = canonical(type_)
    assert isinstance(wanted, FuncType)
    data_types, cells = ObjectLayouts(module).outside(*wanted.params, wanted.result)
    named = dict(zip(inputs, wanted.params, strict=True))
    outputs = named_outputs(module, wanted.result)
    entry = EntryPoint("@main", named, wanted.result, outputs)
    return FirstOrderProgram({}, (), data_types, cells, {}, entry, module.types, False)


def _is_open(lowering: ProgramLowering) -> bool:
    """Whether a tensor of the program has sizes that are known at run time only.

    A kernel may also be told so of a tensor whose sizes are known.
    """
    kinds = [kind for layout in lowering.layouts.all for kind in layout.fields]
    for function in lowering.functions.values():
        kinds += [*function.results, *(register.kind for register in function.parameters)]
        for block in function.blocks:
            results = (result for step in block.instructions for result in step.results)
            kinds += [register.kind for register in (*block.parameters, *results)]
            for step in block.instructions:
                if isinstance(step, RunKernel):
                    kinds += function_kinds(function_type(step.primitive))
    return any(isinstance(kind, TensorKind) and kind.is_open for kind in kinds)


@dataclass(frozen=True, eq=False, slots=True)
class _Pending:
    """A function that is needed: its parameters, and what its free variables are."""

    function: Function
    parameters: tuple[Register, ...]
    bindings: Mapping[Expr, Value]


class ProgramLowering(FunctionTable):
    """The functions and layouts found so far."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.layouts = ObjectLayouts(module)
        self.functions: dict[str, FirstOrderFunction] = {}
        self.closure_code: dict[int, str] = {}
        self._types: dict[str, FuncType] = {}
        self._pending: dict[str, _Pending] = {}
        self._closures: dict[str, ObjectLayout] = {}

    def known_global(self, name: str) -> KnownFunction:
        """A function of the module."""
        symbol = f"@{name}"
        if symbol not in self._types:
            self.declare(symbol, self.module[name], (), {})
        return KnownFunction(symbol)

    def unused_name(self, wanted: str) -> str:
        """A name that no function has yet."""
        name, number = wanted, 1
        while name in self._types:
            number += 1
            name = f"{wanted}.{number}"
        return name

    def declare(
        self,
        name: str,
        function: Function,
        captured: tuple[Register, ...],
        bindings: Mapping[Expr, Value],
    ) -> None:
        """Have a function lowered: `captured` are its leading parameters."""
        type_ = function_type(function)
        if type_.type_params:
            raise NoNativeCodeError(
                f"The function {name} is polymorphic where its types are not known.",
                where=function.span,
            )
        self._types[name] = type_
        parameters = list(captured)
        values: dict[Expr, Value] = dict(bindings)
        for param, param_type in zip(function.params, type_.params, strict=True):
            registers = new_registers(param_type)
            parameters += registers
            values[param] = unflatten(param_type, iter(registers))
        self._pending[name] = _Pending(function, tuple(parameters), values)

    def parameter_kinds(self, known: KnownFunction) -> tuple[Kind, ...]:
        """The kinds of the parameters of a function, without what it captures."""
        return function_kinds(self._types[known.name])

    def closure_kind(self, known: KnownFunction) -> Kind:
        """The kind of the closures of a function."""
        return ObjectKind(self._types[known.name])

    def closure_layout(self, known: KnownFunction) -> ObjectLayout:
        """The layout of the closures of a function; their code unpacks them and goes on there."""
        name = known.name
        if name not in self._closures:
            layout = self.layouts.new(
                f"closure of {name}", [register.kind for register in known.captured]
            )
            self._closures[name] = layout
            self.closure_code[layout.number] = self._write_closure_code(name, layout)
        return self._closures[name]

    def finish(self) -> None:
        """Lower all that is needed."""
        while self._pending:
            name, pending = self._pending.popitem()
            body = BodyLowering(self, name, pending.function, pending.bindings)
            run(body.returned(pending.function.body))
            self._add(name, pending.parameters, body.builder)

    def _write_closure_code(self, name: str, layout: ObjectLayout) -> str:
        type_ = self._types[name]
        closure = Register(ObjectKind(type_))
        arguments = tuple(Register(kind) for param in type_.params for kind in kinds_of(param))
        fields = tuple(Register(kind) for kind in layout.fields)
        builder = BlockBuilder()
        for index, field in enumerate(fields):
            builder.emit(ReadField(field, closure, layout, index))
        builder.end(TailCall(name, (*fields, *arguments)))
        code = f"{name}/closure"
        self._types[code] = type_
        self._add(code, (closure, *arguments), builder)
        return code

    def _add(self, name: str, parameters: tuple[Register, ...], builder: BlockBuilder) -> None:
        results = kinds_of(self._types[name].result)
        self.functions[name] = FirstOrderFunction(name, parameters, results, builder.reached())
