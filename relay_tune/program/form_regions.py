"""Kernels that follow each other in a block become regions.

before: h = run dense(x);  n = less(i, 3);  r = reshape(h);  y = run softmax(r);  branch n ..
after:  n = less(i, 3);  y = region(x) { h = dense(x);  y = softmax(h) };  branch n ..

The memory of a region is planned when the program is built, and threads start once for all of its
kernels. Slices, reshapes and concatenations beside a kernel are views in its region. What stands
between kernels without their results comes before the region, checks of indices after it: kernels
read inside of tensors whatever the indices are.

Where sizes are known at run time only, they must follow from those of the region's inputs; they are
computed and checked when it begins. A kernel that finds sizes from the elements of its inputs, or
does something else where a size is 1 (`stretched_primitives`), is a region by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.op.primitive_views import computes_nothing
from relay_tune.program.extents_first import with_extents_first
from relay_tune.program.instructions import (
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
    Operation,
    Register,
    Reshape,
    RunKernel,
    RunRegion,
    WriteField,
)
from relay_tune.program.kinds import TensorKind
from relay_tune.program.lone_regions import LoneRegions, is_kernel
from relay_tune.program.open_primitive import is_open_primitive, open_primitive
from relay_tune.program.program import Block, FirstOrderFunction
from relay_tune.program.region_builder import RegionBuilder
from relay_tune.program.region_sizes import RegionSizes
from relay_tune.program.stretched_primitives import stretched_primitives
from relay_tune.quick_dataclass import dataclass

_IN_ORDER = (CallFunction, CallClosure, WriteField, ExtendTensor)
"""Barriers to moving kernels: calls keep memory, others see what is written, and a tensor that
nothing else reads is extended where it is."""

_CHECKS = (CheckSize, CheckRoom)
"""Instructions that look at sizes alone, which are known when a region begins."""


def with_regions(function: FirstOrderFunction, lone: LoneRegions) -> FirstOrderFunction:
    """The function with all kernels in regions, as many together as can be."""
    instructions = [i for block in function.blocks for i in block.instructions]
    constants = {i.result: i.data for i in instructions if isinstance(i, LoadConstant)}
    readers: dict[Register, set[Operation]] = {}
    for operation in (*instructions, *(block.terminator for block in function.blocks)):
        for register in operation.operands:
            readers.setdefault(register, set()).add(operation)
    known = _Known(constants, readers)
    blocks = tuple(_with_regions(block, known, lone) for block in function.blocks)
    return lone.function(replace(function, blocks=blocks))


@dataclass(frozen=True, slots=True)
class _Known:
    """Uses of a function's registers: its constants, and which operations read each register."""

    constants: Mapping[Register, np.ndarray]
    readers: Mapping[Register, set[Operation]]


def _with_regions(block: Block, known: _Known, lone: LoneRegions) -> Block:
    written: list[Instruction] = []
    group = _Group(known)
    for instruction in block.instructions:
        if group.takes(instruction):
            group.add(instruction)
        elif group.is_needed_by(instruction) or isinstance(instruction, _IN_ORDER):
            written += group.instructions(lone)
            group = _Group(known)
            written.append(instruction)
        else:
            written.append(instruction)
    written += group.instructions(lone)
    return replace(block, instructions=tuple(written))


class _Group:
    """Instructions that may run together."""

    def __init__(self, known: _Known) -> None:
        self._known = known
        self._members: list[Instruction] = []
        self._results: set[Register] = set()
        self._read: set[Register] = set()
        self._sizes = RegionSizes()

    def takes(self, instruction: Instruction) -> bool:
        """Whether an instruction can be one of the group, or come after its kernels."""
        match instruction:
            case DeferKernel():
                return False
            case ComputeScalars() | CheckIndices() | CheckSize() | CheckRoom():
                return self.is_needed_by(instruction)
            case RunKernel():
                return self._knows_sizes(instruction)
            case Reshape():
                is_wanted = self.is_needed_by(instruction) or self._is_for_kernels(instruction)
                is_late = instruction.open is not None and instruction.source in self._read
                return _is_view(instruction) and (is_wanted or is_late)
        return False

    def _knows_sizes(self, run: RunKernel) -> bool:
        """Whether the sizes of a kernel are known when the group begins, and fit."""
        if not is_open_primitive(run.primitive):
            return True
        named = open_primitive(run.primitive)
        if named.found:
            return False
        return self._sizes.fits(named, run.inputs) or not stretched_primitives(run.primitive, named)

    def add(self, instruction: Instruction) -> None:
        """One more."""
        self._members.append(instruction)
        self._results.update(instruction.results)
        self._read.update(instruction.operands)
        self._sizes.add(instruction)

    def is_needed_by(self, instruction: Instruction) -> bool:
        """Whether an instruction reads a result of the group."""
        return not self._results.isdisjoint(instruction.operands)

    def _is_for_kernels(self, reshape: Reshape) -> bool:
        """Whether kernels alone read a reshape of something that was there before.

        Nothing reads it where what did so stood behind a match of which every clause fails.
        """
        readers = self._known.readers.get(reshape.result, set())
        return bool(readers) and all(isinstance(each, RunKernel) for each in readers)

    def instructions(self, lone: LoneRegions) -> list[Instruction]:
        """The region and what comes after it; the members themselves if they are no region."""
        inside = self._inside()
        if not any(map(_is_computed, inside)):
            return self._members
        checks = [m for m in self._members if isinstance(m, _CHECKS)]
        outputs, views = self._exported(inside, {*inside, *checks})
        others = [m for m in self._members if m not in inside and m not in checks]
        kernel = next(iter(inside))
        if len(inside) == 1 and is_kernel(kernel) and not checks:
            return [lone.instruction(kernel), *others]
        extents = [member.extent for member in others if isinstance(member, CheckIndices)]
        return [self._region(inside, checks, outputs, extents), *views, *others]

    def _region(
        self,
        inside: Collection[Instruction],
        checks: Collection[Instruction],
        outputs: Sequence[Register],
        extents: Sequence[Register],
    ) -> RunRegion:
        """The region of kernels and reshapes; extents of indices come first."""
        builder = RegionBuilder(self._sizes, self._known.constants)
        for member in inside:
            builder.add(member)
        checked = [member for member in self._members if member in inside or member in checks]
        region = builder.region(outputs, checked)
        found = [builder.buffers[each] for each in extents if each in builder.buffers]
        return RunRegion(with_extents_first(region, found), tuple(builder.inputs), tuple(outputs))

    def _inside(self) -> dict[Instruction, None]:
        """The kernels whose results are read, views of these, and all that they depend on."""
        live: set[Register] = set()
        needed: set[Register] = set()
        found: list[Instruction] = []
        members = set(self._members)
        computed = self._computed()
        for member in reversed(self._members):
            is_live = any(self._is_read(r, members) or r in live for r in member.results)
            if isinstance(member, _CHECKS) or (member.results and not is_live):
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
            if _is_computed(member) or (is_view and not found.isdisjoint(member.operands)):
                found.update(member.results)
        return found

    def _exported(
        self, inside: Collection[Instruction], known: Collection[Operation]
    ) -> tuple[list[Register], list[Reshape]]:
        """The outputs of the region, and what of them is read in several shapes, or of inputs."""
        views = {each.result: each for each in inside if isinstance(each, Reshape)}
        own = {result for member in inside for result in member.results}
        shapes: dict[Register, list[Register]] = {}
        for result in (r for m in inside for r in m.results if self._is_read(r, known)):
            whole = result
            while whole in views:
                whole = views[whole].source
            shapes.setdefault(whole, []).append(result)
        outputs: list[Register] = []
        exported: dict[Reshape, None] = {}
        for whole, results in shapes.items():
            if whole in own and len(results) == 1:
                outputs += results
                continue
            outputs += [whole] if whole in own else []
            for result in results:
                chain: list[Reshape] = []
                while result in views:
                    chain.append(views[result])
                    result = views[result].source
                exported.update(dict.fromkeys(reversed(chain)))
        return outputs, list(exported)

    def _is_read(self, register: Register, known: Collection[Operation]) -> bool:
        """Whether something else than known operations reads a register."""
        return any(reader not in known for reader in self._known.readers.get(register, ()))


def _is_computed(instruction: Instruction) -> bool:
    """Whether an instruction runs a kernel that is no arithmetic of numbers and no view."""
    return is_kernel(instruction) and not computes_nothing(instruction.primitive)


def _is_free(instruction: Instruction) -> bool:
    """Whether an instruction is a slice or a concatenation that the plan of memory can hold."""
    return isinstance(instruction, RunKernel) and computes_nothing(instruction.primitive)


def _is_view(reshape: Reshape) -> bool:
    """Whether shapes before and after are those of tensors, or known."""
    kinds = (reshape.source.kind, reshape.result.kind)
    return reshape.open is None or all(isinstance(kind, TensorKind) for kind in kinds)
