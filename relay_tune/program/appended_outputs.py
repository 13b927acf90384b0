"""Results that are an input with more rows: they may lie where the input lies.

    before: function @main(past, x):
              new = run dense(x);  all = run concatenate(past, new);  y = run softmax(all)
              return y, all
    after:  function @main(past, x):
              new = run dense(x);  all = append(past, new);  y = run softmax(all, spaced)
              return y, all

The memory of such a result has room for more rows than it has, so that the next call can append to
it: kernels that read it are made for any distance of its slices (see `op.spaced_inputs`).
Where a caller gives the memory in which the input lies, only the new rows are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.dim import UnknownDim
from relay_tune.ir.dim_arithmetic import product
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.known_type import known_type
from relay_tune.ir.traversal import children, post_order
from relay_tune.ir.types import TensorType
from relay_tune.op.creation import shape_of
from relay_tune.op.spaced_inputs import with_spaced_inputs
from relay_tune.program.concatenations import Concatenation, concatenation
from relay_tune.program.instructions import (
    AppendRows,
    CheckRoom,
    CheckSize,
    ComputeScalars,
    DeferKernel,
    Instruction,
    Register,
    Reshape,
    RunKernel,
    ViewRows,
)
from relay_tune.program.open_primitive import open_primitive
from relay_tune.program.program import AppendedOutput, Block, FirstOrderFunction
from relay_tune.program.terminators import Return

_Reading = tuple[Function, tuple[tuple[int, int], ...]]
"""A primitive with its inputs that are spaced, and their axes."""


def with_appended_outputs(
    function: FirstOrderFunction,
) -> tuple[FirstOrderFunction, tuple[AppendedOutput, ...]]:
    """An entry that appends rows to inputs where it can, and the results that come about so."""
    if len(function.blocks) != 1:
        return function, ()
    (block,) = function.blocks
    found = {joined.kernel: (joined, append) for joined, append in _appends(function, block)}
    if not found:
        return function, ()
    results = {append.result: append.axis for _, append in found.values()}
    spaced: dict[_Reading, Function] = {}
    instructions: list[Instruction] = []
    for instruction in block.instructions:
        if isinstance(instruction, RunKernel) and instruction in found:
            joined, append = found[instruction]
            computed = () if joined.computed is None else (joined.computed,)
            instructions += [*joined.checks(), *computed, append]
        elif isinstance(instruction, Reshape) and instruction.source in results:
            axis = _moved_axis(instruction, results[instruction.source])
            assert axis is not None and instruction.open is not None  # `_Readers` has looked
            results[instruction.result] = axis
            instructions.append(ViewRows(instruction.result, instruction.source, instruction.open))
        elif isinstance(instruction, RunKernel):
            instructions.append(_reading(instruction, results, spaced))
        else:
            instructions.append(instruction)
    positions = {parameter: number for number, parameter in enumerate(function.parameters)}
    outputs = tuple(AppendedOutput(a.output, positions[a.old], a.axis) for _, a in found.values())
    whole = replace(block, instructions=tuple(instructions))
    return replace(function, blocks=(whole,)), outputs


def _appends(
    function: FirstOrderFunction, block: Block
) -> Iterator[tuple[Concatenation, AppendRows]]:
    """The concatenations of a block that can become appends, and these."""
    if not isinstance(block.terminator, Return):
        return
    returned = block.terminator.values
    times = Counter(returned)
    readers = _Readers(block, returned)
    for instruction in block.instructions:
        joined = concatenation(instruction)
        if joined is None or not _has_names(joined.kernel):
            continue
        old, result = joined.old, joined.result
        if times[result] != 1 or not readers.take_room(result, joined.axis):
            continue
        if old not in function.parameters or old in returned:
            continue
        others = (reader for reader in readers.of(old) if reader is not instruction)
        if all(_asks_sizes_alone(reader, old) for reader in others):
            output = returned.index(result)
            yield joined, AppendRows(result, old, joined.rows, joined.axis, output)


def _asks_sizes_alone(reader: Instruction, old: Register) -> bool:
    """Whether a reader takes no element of a tensor: it checks or computes with its sizes."""
    if isinstance(reader, CheckSize | CheckRoom):
        return True
    if not isinstance(reader, RunKernel) or isinstance(reader, ComputeScalars | DeferKernel):
        return False
    primitive = reader.primitive
    params = {p for p, r in zip(primitive.params, reader.inputs, strict=True) if r is old}
    uses = [
        node
        for node in post_order(primitive.body)
        if any(child in params for child in children(node))
    ]
    return primitive.body not in params and all(
        isinstance(node, Call) and node.callee is shape_of for node in uses
    )


def _has_names(kernel: RunKernel) -> bool:
    """Whether a kernel takes tensors all of whose sizes have names or are known.

    Sizes without a name may have to be 1 to fit others.
    """
    types = [known_type(param) for param in kernel.primitive.params]
    return all(isinstance(t, TensorType) and UnknownDim() not in t.shape for t in types)


class _Readers:
    """The instructions of a block by what they read."""

    def __init__(self, block: Block, returned: Collection[Register]) -> None:
        self._returned = returned
        self._found: dict[Register, list[Instruction]] = {}
        for instruction in block.instructions:
            for register in dict.fromkeys(instruction.operands):
                self._found.setdefault(register, []).append(instruction)

    def of(self, register: Register) -> Sequence[Instruction]:
        """Instructions that read a register."""
        return self._found.get(register, ())

    def take_room(self, register: Register, axis: int) -> bool:
        """Whether whatever reads a tensor can do so if it has room for more along an axis."""
        return all(self._takes_room(reader, axis) for reader in self.of(register))

    def _takes_room(self, reader: Instruction, axis: int) -> bool:
        match reader:
            case CheckSize() | CheckRoom():
                return True
            case Reshape():
                moved = _moved_axis(reader, axis)
                is_inside = reader.result not in self._returned
                return moved is not None and is_inside and self.take_room(reader.result, moved)
            case ComputeScalars() | DeferKernel():
                return False
            case RunKernel():
                return _has_names(reader) and not open_primitive(reader.primitive).found
        return False


def _moved_axis(reshape: Reshape, axis: int) -> int | None:
    """The axis of the result that an axis of the source is, with as much before and behind it.

    reshape(x: Tensor[(b, n, 32)]) as (b, n, 4, 8): axis 1 is axis 1. None if it is no axis.
    """
    if reshape.open is None:
        return None
    given, wanted = known_type(reshape.open.function.params[0]), reshape.open.outputs[0]
    if not isinstance(given, TensorType) or UnknownDim() in given.shape:
        return None
    shape = given.shape
    for index, dim in enumerate(wanted):
        inner, outer = product(wanted[index + 1 :]), product(wanted[:index])
        if dim == shape[axis] and outer == product(shape[:axis]):
            return index if inner == product(shape[axis + 1 :]) else None
    return None


def _reading(
    run: RunKernel,
    results: Mapping[Register, int],
    known: dict[_Reading, Function],
) -> RunKernel:
    """A kernel that reads appended results wherever their slices lie; `known` are those made."""
    axes = {index: results[r] for index, r in enumerate(run.inputs) if r in results}
    if not axes:
        return run
    key = run.primitive, tuple(axes.items())
    if key not in known:
        known[key] = with_spaced_inputs(run.primitive, axes)
    return replace(run, primitive=known[key])
