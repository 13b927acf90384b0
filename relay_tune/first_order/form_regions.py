"""Kernels that follow each other in a block become regions.

before: h = run dense(x);  n = less(i, 3);  r = reshape(h);  y = run softmax(r);  branch n ..
after:  n = less(i, 3);  y = region(x) { h = dense(x);  y = softmax(h) };  branch n ..

The memory of a region is planned when the program is built, and threads start once for all of its
kernels. Slices, reshapes and concatenations beside a kernel are views in its region. What stands
between kernels without their results comes before the region, checks of indices after it: kernels
read inside of tensors whatever the indices are. Kernels whose sizes are known at run time only stay
by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from relay_tune.first_order.extents_first import with_extents_first
from relay_tune.first_order.instructions import (
    CallClosure,
    CallFunction,
    CheckIndices,
    ComputeScalars,
    DeferKernel,
    Instruction,
    LoadConstant,
    Operation,
    Register,
    Reshape,
    RunKernel,
    RunRegion,
    WriteField,
)
from relay_tune.first_order.kinds import ScalarKind, TensorKind
from relay_tune.first_order.open_primitive import is_open_primitive
from relay_tune.first_order.program import Block, FirstOrderFunction
from relay_tune.first_order.region import Buffer
from relay_tune.first_order.region_builder import RegionBuilder
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_views import computes_nothing

_IN_ORDER = (CallFunction, CallClosure, WriteField)
"""What no kernel is moved behind: calls keep memory, and others see what is written."""


def with_regions(function: FirstOrderFunction) -> FirstOrderFunction:
    """The function with a region wherever two or more kernels can run together."""
    instructions = [i for block in function.blocks for i in block.instructions]
    constants = {i.result: i for i in instructions if isinstance(i, LoadConstant)}
    readers: dict[Register, set[Operation]] = {}
    for operation in (*instructions, *(block.terminator for block in function.blocks)):
        for register in operation.operands:
            readers.setdefault(register, set()).add(operation)
    known = _Known(constants, readers)
    return replace(function, blocks=tuple(_with_regions(block, known) for block in function.blocks))


@dataclass(frozen=True, slots=True)
class _Known:
    """What a function's registers are: its constants, and which operations read each register."""

    constants: Mapping[Register, LoadConstant]
    readers: Mapping[Register, set[Operation]]


def _with_regions(block: Block, known: _Known) -> Block:
    written: list[Instruction] = []
    group = _Group(known)
    for instruction in block.instructions:
        if group.takes(instruction):
            group.add(instruction)
        elif group.is_needed_by(instruction) or isinstance(instruction, _IN_ORDER):
            written += group.instructions()
            group = _Group(known)
            written.append(instruction)
        else:
            written.append(instruction)
    written += group.instructions()
    return replace(block, instructions=tuple(written))


class _Group:
    """Instructions that may run together."""

    def __init__(self, known: _Known) -> None:
        self._known = known
        self._members: list[Instruction] = []
        self._results: set[Register] = set()

    def takes(self, instruction: Instruction) -> bool:
        """Whether an instruction can be one of the group, or come after its kernels."""
        match instruction:
            case DeferKernel():
                return False
            case ComputeScalars() | CheckIndices():
                return self.is_needed_by(instruction)
            case RunKernel():
                return not is_open_primitive(instruction.primitive)
            case Reshape():
                is_wanted = self.is_needed_by(instruction) or self._is_for_kernels(instruction)
                return _is_view(instruction) and is_wanted
        return False

    def add(self, instruction: Instruction) -> None:
        """One more."""
        self._members.append(instruction)
        self._results.update(instruction.results)

    def is_needed_by(self, instruction: Instruction) -> bool:
        """Whether an instruction reads a result of the group."""
        return not self._results.isdisjoint(instruction.operands)

    def _is_for_kernels(self, reshape: Reshape) -> bool:
        """Whether kernels alone read a reshape of something that was there before."""
        return all(isinstance(each, RunKernel) for each in self._known.readers[reshape.result])

    def instructions(self) -> list[Instruction]:
        """The region and what comes after it; the members themselves if they are no region."""
        inside = self._inside()
        kernels = sum(_is_kernel(member) for member in inside)
        if not kernels or len(inside) < 2:
            return self._members
        outputs, views = self._exported(inside)
        others = [member for member in self._members if member not in inside]
        extents = [member.extent for member in others if isinstance(member, CheckIndices)]
        region = _region(inside, outputs, extents, self._known)
        return [region, *views, *others]

    def _inside(self) -> dict[Instruction, None]:
        """The kernels whose results are read, views of these, and all that they depend on."""
        live: set[Register] = set()
        needed: set[Register] = set()
        found: list[Instruction] = []
        members = set(self._members)
        computed = self._computed()
        for member in reversed(self._members):
            is_live = any(self._is_read(r, members) or r in live for r in member.results)
            if member.results and not is_live:
                continue
            live.update(member.operands)
            if not (computed | needed).isdisjoint(member.results):
                found.append(member)
                needed.update(member.operands)
        return dict.fromkeys(reversed(found))

    def _computed(self) -> set[Register]:
        """The results of kernels, and of views of them."""
        found: set[Register] = set()
        for member in self._members:
            is_view = isinstance(member, Reshape) or _is_free(member)
            if _is_kernel(member) or (is_view and not found.isdisjoint(member.operands)):
                found.update(member.results)
        return found

    def _exported(self, inside: Collection[Instruction]) -> tuple[list[Register], list[Reshape]]:
        """The outputs of the region, and what of them is read in several shapes, or of inputs."""
        sources = {each.result: each.source for each in inside if isinstance(each, Reshape)}
        own = {result for member in inside for result in member.results}
        shapes: dict[Register, list[Register]] = {}
        for result in (r for m in inside for r in m.results if self._is_read(r, inside)):
            whole = result
            while whole in sources:
                whole = sources[whole]
            shapes.setdefault(whole, []).append(result)
        outputs: list[Register] = []
        views: list[Reshape] = []
        for whole, results in shapes.items():
            if whole in own and len(results) == 1:
                outputs += results
                continue
            outputs += [whole] if whole in own else []
            views += [Reshape(result, whole) for result in results if result is not whole]
        return outputs, views

    def _is_read(self, register: Register, known: Collection[Operation]) -> bool:
        """Whether something else than known operations reads a register."""
        return any(reader not in known for reader in self._known.readers.get(register, ()))


def _is_kernel(instruction: Instruction) -> bool:
    """Whether an instruction runs a kernel that is no arithmetic of numbers and no view."""
    if isinstance(instruction, ComputeScalars) or not isinstance(instruction, RunKernel):
        return False
    return not computes_nothing(instruction.primitive)


def _is_free(instruction: Instruction) -> bool:
    """Whether an instruction is a slice or a concatenation that the plan of memory can hold."""
    return isinstance(instruction, RunKernel) and computes_nothing(instruction.primitive)


def _is_view(reshape: Reshape) -> bool:
    """Whether shapes before and after are known."""
    kinds = (reshape.source.kind, reshape.result.kind)
    return reshape.open is None and not any(isinstance(k, TensorKind) and k.is_open for k in kinds)


def _region(
    members: Collection[Instruction],
    outputs: Sequence[Register],
    extents: Sequence[Register],
    known: _Known,
) -> RunRegion:
    """The region of members, which are kernels and reshapes; extents of indices come first."""
    builder = RegionBuilder()
    inputs: list[Register] = []
    buffers: dict[Register, Buffer] = {}

    def buffer_of(register: Register) -> Buffer:
        if register not in buffers and register in known.constants:
            buffers[register] = builder.constant(known.constants[register].data)
        if register not in buffers:
            inputs.append(register)
            buffers[register] = builder.add_input(_type(register))
        return buffers[register]

    for member in members:
        match member:
            case Reshape():
                source = buffer_of(member.source)
                buffers[member.result] = builder.view(source, 0, _type(member.result))
            case RunKernel():
                sources = [buffer_of(register) for register in member.inputs]
                results = builder.run(member.primitive, sources, [*map(_type, member.outputs)])
                buffers.update(zip(member.outputs, results, strict=True))
    for register in outputs:
        builder.add_output(buffers[register])
    found = [buffers[extent] for extent in extents if extent in buffers]
    region = with_extents_first(builder.region(), found)
    return RunRegion(region, tuple(inputs), tuple(outputs))


def _type(register: Register) -> TensorType:
    match register.kind:
        case ScalarKind(dtype=dtype):
            return TensorType((), dtype)
        case TensorKind(type=type_):
            return type_
    raise TypeError(f"a kernel with {register.kind}")  # which no primitive reads or gives
