"""The instructions of first-order functions in LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.codegen.llvm_types import BYTES, literal_text
from relay_tune.codegen.programs.append_rows import write_append, write_extension
from relay_tune.codegen.programs.arguments import pass_arguments
from relay_tune.codegen.programs.index_check_writer import write_index_check
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.region_writer import write_region
from relay_tune.codegen.programs.scalar_writer import write_scalars
from relay_tune.codegen.programs.session import PASSED
from relay_tune.codegen.programs.values import llvm_type, result_type
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import is_sum_of_sizes
from relay_tune.program.instructions import (
    AppendRows,
    CallClosure,
    CallFunction,
    CheckIndices,
    CheckRoom,
    CheckSize,
    ComputeScalars,
    DeferKernel,
    ExtendTensor,
    Instruction,
    LoadConstant,
    MakeObject,
    ReadField,
    Register,
    Release,
    Reshape,
    Retain,
    RunRegion,
    Unpack,
    ViewRows,
    WriteField,
)
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK, ScalarKind, TensorKind, is_counted
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.program.program import FirstOrderFunction
from relay_tune.program.size_naming import SizeSource

CONSTANTS = "@relay_tune_constants"


class InstructionWriter:
    """Writes instructions one after the other."""

    def __init__(
        self, function: FirstOrderFunction, module: ModuleWriter, objects: ObjectWriter
    ) -> None:
        self._function = function
        self._module = module
        self._objects = objects
        self._writer = objects.writer
        self._names = objects.names

    def write(self, instruction: Instruction) -> None:
        """Write one instruction; its results get names."""
        names, objects = self._names, self._objects
        match instruction:
            case ComputeScalars():
                write_scalars(instruction, objects)
            case DeferKernel():
                self._defer(instruction)
            case RunRegion():
                self._run_queue()
                write_region(instruction, self._module.regions[instruction.region], objects)
            case AppendRows():
                write_append(instruction, objects)
            case ViewRows():
                self._write_view(instruction)
            case ExtendTensor():
                write_extension(instruction, objects)
            case LoadConstant():
                names[instruction.result] = self._constant(instruction)
            case Reshape():
                names[instruction.result] = self._reshaped(instruction)
            case CheckSize():
                self._check_size(instruction)
            case CheckRoom():
                self._check_room(instruction)
            case CheckIndices():
                write_index_check(instruction, objects)
            case MakeObject():
                names[instruction.result] = self._new_object(instruction)
            case ReadField():
                self._read_field(instruction)
            case WriteField():
                self._write_field(instruction)
            case CallFunction():
                call = self.call_text(instruction.function, instruction.arguments)
                self._write_call(call, instruction.outputs)
            case CallClosure():
                call = self.closure_call_text(instruction.closure, instruction.arguments)
                self._write_call(call, instruction.outputs)
            case Retain():
                objects.retain(names[instruction.object])
            case Release():
                objects.release(names[instruction.object])
            case Unpack():
                fields = dict(instruction.fields)
                objects.unpack(names[instruction.object], instruction.layout, fields)

    def _run_queue(self) -> None:
        """Compute all tensors that are still to be computed."""
        if self._module.program.batches:
            self._writer.line("call void @run_queue(ptr %session)")

    def _defer(self, instruction: DeferKernel) -> None:
        names = self._names
        for output in instruction.outputs:
            assert isinstance(output.kind, TensorKind)  # what makes numbers does not wait
            names[output] = self._objects.new_tensor(output.kind)
        number = self._module.queue_number(instruction.primitive)
        operands = self._arguments((*instruction.inputs, *instruction.outputs))
        self._writer.line(f"call void @note.{number}(ptr %session{operands})")

    def write_return(self, values: Sequence[Register]) -> None:
        """Return to the caller."""
        names = self._names
        for index, value in enumerate(values[1:]):
            self._objects.store_value(value.kind, names[value], "%session", PASSED + 8 * index)
        self._objects.need_passed(len(values) - 1)
        kind = result_type([value.kind for value in values])
        self._writer.line(f"ret {kind} {names[values[0]]}" if values else "ret void")

    def call_text(self, function: str, arguments: Sequence[Register]) -> str:
        """The callee and the arguments of a direct call."""
        return f'@"{function}"(ptr %session{self._passed(arguments)})'

    def closure_call_text(self, closure: Register, arguments: Sequence[Register]) -> str:
        """The callee and the arguments of a call of a closure."""
        number = self._objects.layout_number(closure)
        slot = self._writer.fresh()
        count = len(self._module.program.layouts) + 1
        self._writer.line(
            f"{slot} = getelementptr [{count} x ptr], ptr @closure_code, i64 0, i16 {number}"
        )
        code = self._objects.load("ptr", slot, 0)
        return f"{code}(ptr %session{self._passed((closure, *arguments))})"

    def _passed(self, registers: Sequence[Register]) -> str:
        kinds = [register.kind for register in registers]
        return pass_arguments(kinds, [self._names[r] for r in registers], self._objects)

    def _arguments(self, registers: Sequence[Register]) -> str:
        return "".join(f", {llvm_type(r.kind)} {self._names[r]}" for r in registers)

    def _write_call(self, call: str, outputs: Sequence[Register]) -> None:
        kind = result_type([output.kind for output in outputs])
        if not outputs:
            self._writer.line(f"call tailcc void {call}")
            return
        result = self._writer.fresh("r")
        self._writer.line(f"{result} = call tailcc {kind} {call}")
        self._names[outputs[0]] = result
        for index, output in enumerate(outputs[1:]):
            self._names[output] = self._objects.load_value(
                output.kind, "%session", PASSED + 8 * index
            )

    def _constant(self, instruction: LoadConstant) -> str:
        kind = instruction.result.kind
        if isinstance(kind, ScalarKind):
            return literal_text(_number(instruction.data), kind.dtype)
        offset = self._module.constant_object(instruction.data)
        return self._objects.address(CONSTANTS, offset)

    def _reshaped(self, instruction: Reshape) -> str:
        result, source = instruction.result.kind, instruction.source.kind
        name = self._names[instruction.source]
        if isinstance(result, ScalarKind):
            if isinstance(source, ScalarKind):
                return name
            self._run_queue()
            return self._objects.load_value(result, self._objects.data(name), 0)
        if isinstance(source, ScalarKind) and isinstance(result, TensorKind):
            tensor = self._objects.new_tensor(result)
            self._objects.store_value(source, name, self._objects.data(tensor), 0)
            return tensor
        if not self._module.program.is_open:
            return name
        assert isinstance(result, TensorKind)  # kinds of values are scalars, tensors and objects
        return self._with_shape(instruction, name, result)

    def _with_shape(self, instruction: Reshape, source: str, kind: TensorKind) -> str:
        """A tensor with its shape of now in the object."""
        objects = self._objects
        if instruction.open is None:
            shape = [str(extent) for extent in kind.shape]
        else:
            shape = self._shape(instruction.open, source)
        size = objects.product([*shape, str(BYTES[kind.type.dtype])])
        if instruction.open is not None:
            self._require_as_many(instruction.source, shape)
        result = self._writer.fresh("o")
        self._writer.line(f"{result} = call ptr @reshaped(ptr %session, ptr {source}, i64 {size})")
        objects.store_shape(result, shape[:MAXIMUM_OPEN_RANK])
        return result

    def _shape(self, named: OpenPrimitive, source: str) -> list[str]:
        """The sizes of what a primitive makes of a tensor."""
        symbols = {}
        for name, at in named.symbols.items():
            symbols[name] = self._size_in(at, self._objects.size(source, at.axis))
        writer = SizeWriter(symbols, self._writer.pure)
        return [writer.dim(dim) for dim in named.outputs[0]]

    def _write_view(self, view: ViewRows) -> None:
        """Name the elements of a tensor with room once more, with other sizes."""
        source, result = self._names[view.source], self._writer.fresh("v")
        self._writer.line(f"{result} = getelementptr i8, ptr {source}, i64 0")
        room = self._objects.lent_sizes[source][-1]
        self._objects.lent_sizes[result] = [*self._shape(view.open, source), room]
        self._names[view.result] = result

    def _require_as_many(self, source: Register, shape: Sequence[str]) -> None:
        """Fail unless a shape has as many elements as a tensor."""
        objects, kind = self._objects, source.kind
        assert isinstance(kind, TensorKind)  # a scalar has no open size, nor has a view of it
        given = objects.product(objects.shape(self._names[source], kind))
        fits = self._writer.pure(f"icmp eq i64 {given}, {objects.product(shape)}")
        objects.require(fits, "A tensor has not as many elements as the shape that it should get.")

    def _check_size(self, check: CheckSize) -> None:
        objects, names = self._objects, self._names
        given, *others = (
            objects.size(names[size.tensor], size.axis)
            for size in (check.size, *check.symbols.values())
        )
        wanted = self._size(check.wanted, dict(zip(check.symbols, others, strict=True)))
        if not is_sum_of_sizes(check.wanted):  # such as n - 1, 0 where n is
            is_size = self._writer.pure(f"icmp sgt i64 {wanted}, 0")
            wanted = self._writer.pure(f"select i1 {is_size}, i64 {wanted}, i64 0")
        fits = self._writer.pure(f"icmp eq i64 {given}, {wanted}")
        objects.require(fits, check.message)

    def _check_room(self, check: CheckRoom) -> None:
        objects, symbols = self._objects, {}
        for name, (axis, source) in check.symbols.items():
            extent = objects.size(self._names[axis.tensor], axis.axis)
            symbols[name] = self._size_in(source, extent)
        fits = self._writer.pure(f"icmp sge i64 {self._size(check.room, symbols)}, 0")
        objects.require(fits, check.message)

    def _size_in(self, source: SizeSource, extent: str) -> str:
        """The size that is in an axis of an extent."""
        if source.offset:
            extent = self._writer.pure(f"sub i64 {extent}, {source.offset}")
        return self._writer.pure(f"udiv i64 {extent}, {source.divisor}")

    def _size(self, dim: Dim, symbols: Mapping[str, str]) -> str:
        """A dimension whose symbols have these names, as an operand."""
        return SizeWriter(symbols, self._writer.pure).dim(dim)

    def _new_object(self, instruction: MakeObject) -> str:
        layout = instruction.layout
        if not layout.fields:
            return f"@static.{layout.number}"
        object_ = self._objects.new_block(layout.size, layout.number)
        for register, offset in zip(instruction.fields, layout.offsets, strict=True):
            self._objects.store_value(register.kind, self._names[register], object_, offset)
        return object_

    def _read_field(self, instruction: ReadField) -> None:
        kind = instruction.result.kind
        object_ = self._names[instruction.object]
        offset = instruction.layout.offsets[instruction.index]
        text = self._objects.load_value(kind, object_, offset)
        self._names[instruction.result] = text
        if is_counted(kind):
            self._objects.retain(text)

    def _write_field(self, instruction: WriteField) -> None:
        kind = instruction.value.kind
        object_ = self._names[instruction.object]
        offset = instruction.layout.offsets[instruction.index]
        old = self._objects.load_value(kind, object_, offset) if is_counted(kind) else None
        self._objects.store_value(kind, self._names[instruction.value], object_, offset)
        if old is not None:
            self._objects.release(old)


def _number(data: np.ndarray) -> bool | int | float:
    number = data.item()
    return number if isinstance(number, bool | int | float) else float(number)
