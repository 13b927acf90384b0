"""Kernels that follow each other in a block become regions.

before: h = run dense(x);  n = less(i, 3);  r = reshape(h);  y = run softmax(r);  branch n ..
after:  n = less(i, 3);  y = region(x) { h = dense(x);  y = softmax(h) };  branch n ..

The memory of a region is planned when the program is built, and threads start once for all of its
kernels. What stands between them without their results comes before the region, checks of indices
after it: kernels read inside of tensors whatever the indices are. Kernels whose sizes are known at
run time only stay by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

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
                return instruction.open is None and self.is_needed_by(instruction)
        return False

    def add(self, instruction: Instruction) -> None:
        """One more."""
        self._members.append(instruction)
        self._results.update(instruction.results)

    def is_needed_by(self, instruction: Instruction) -> bool:
        """Whether an instruction reads a result of the group."""
        return not self._results.isdisjoint(instruction.operands)

    def instructions(self) -> list[Instruction]:
        """The region and what comes after it; the members themselves if they are no region."""
        inside = self._inside()
        if sum(_is_kernel(member) for member in inside) < 2:
            return self._members
        exported = self._exported(inside)
        region = _region(inside, [r for r in exported if r not in _views(inside)], self._known)
        views = [view for view in inside if isinstance(view, Reshape) and view.result in exported]
        return [region, *views, *(member for member in self._members if member not in inside)]

    def _inside(self) -> dict[Instruction, None]:
        """The kernels whose results are read, and all members that they depend on, in order."""
        live: set[Register] = set()
        needed: set[Register] = set()
        found: list[Instruction] = []
        members = set(self._members)
        for member in reversed(self._members):
            is_live = any(self._is_read(r, members) or r in live for r in member.results)
            if member.results and not is_live:
                continue
            live.update(member.operands)
            if _is_kernel(member) or not needed.isdisjoint(member.results):
                found.append(member)
                needed.update(member.operands)
        return dict.fromkeys(reversed(found))

    def _exported(self, inside: Collection[Instruction]) -> dict[Register, None]:
        """The results that are read elsewhere; with a reshape, what it is made from."""
        views = _views(inside)
        pending = [r for m in inside for r in m.results if self._is_read(r, inside)]
        found: dict[Register, None] = {}
        while pending:
            register = pending.pop()
            found[register] = None
            if register in views:
                pending.append(views[register].source)
        return found

    def _is_read(self, register: Register, known: Collection[Operation]) -> bool:
        """Whether something else than known operations reads a register."""
        return any(reader not in known for reader in self._known.readers.get(register, ()))


def _is_kernel(instruction: Instruction) -> bool:
    """Whether an instruction runs a kernel that is no arithmetic of numbers and no view."""
    if isinstance(instruction, ComputeScalars) or not isinstance(instruction, RunKernel):
        return False
    return not computes_nothing(instruction.primitive)


def _views(instructions: Collection[Instruction]) -> dict[Register, Reshape]:
    return {each.result: each for each in instructions if isinstance(each, Reshape)}


def _region(
    members: Collection[Instruction], outputs: Sequence[Register], known: _Known
) -> RunRegion:
    """The region of members, which are kernels and reshapes."""
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
    return RunRegion(builder.region(), tuple(inputs), tuple(outputs))


def _type(register: Register) -> TensorType:
    match register.kind:
        case ScalarKind(dtype=dtype):
            return TensorType((), dtype)
        case TensorKind(type=type_):
            return type_
    raise TypeError(f"a kernel with {register.kind}")  # which no primitive reads or gives
