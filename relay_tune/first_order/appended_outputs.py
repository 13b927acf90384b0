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
from collections.abc import Iterator, Mapping
from dataclasses import replace

from relay_tune.first_order.concatenations import Concatenation, concatenation
from relay_tune.first_order.instructions import (
    AppendRows,
    CheckRoom,
    CheckSize,
    ComputeScalars,
    DeferKernel,
    Instruction,
    Register,
    RunKernel,
)
from relay_tune.first_order.open_primitive import open_primitive
from relay_tune.first_order.program import AppendedOutput, Block, FirstOrderFunction
from relay_tune.first_order.terminators import Return
from relay_tune.ir.dim import UnknownDim
from relay_tune.ir.expr import Function
from relay_tune.ir.known_type import known_type
from relay_tune.ir.types import TensorType
from relay_tune.op.spaced_inputs import with_spaced_inputs

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
        elif isinstance(instruction, RunKernel):
            instructions.append(_reading(instruction, results, spaced))
        else:
            instructions.append(instruction)
    places = {parameter: number for number, parameter in enumerate(function.parameters)}
    outputs = tuple(AppendedOutput(a.output, places[a.old], a.axis) for _, a in found.values())
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
    readers: dict[Register, list[Instruction]] = {}
    for instruction in block.instructions:
        for register in dict.fromkeys(instruction.operands):
            readers.setdefault(register, []).append(instruction)
    for instruction in block.instructions:
        joined = concatenation(instruction)
        if joined is None or not _has_names(joined.kernel):
            continue
        old, result = joined.old, joined.result
        if times[result] != 1 or not all(map(_can_read_spaced, readers.get(result, ()))):
            continue
        if old not in function.parameters or old in returned:
            continue
        others = (reader for reader in readers[old] if reader is not instruction)
        if all(isinstance(reader, CheckSize | CheckRoom) for reader in others):
            output = returned.index(result)
            yield joined, AppendRows(result, old, joined.rows, joined.axis, output)


def _has_names(kernel: RunKernel) -> bool:
    """Whether a kernel takes tensors all of whose sizes have names or are known.

    Sizes without a name may have to be 1 to fit others.
    """
    types = [known_type(param) for param in kernel.primitive.params]
    return all(isinstance(t, TensorType) and UnknownDim() not in t.shape for t in types)


def _can_read_spaced(reader: Instruction) -> bool:
    """Whether an instruction can read a tensor whose slices lie apart."""
    if isinstance(reader, CheckSize | CheckRoom):
        return True
    if not isinstance(reader, RunKernel) or isinstance(reader, ComputeScalars | DeferKernel):
        return False
    return _has_names(reader) and not open_primitive(reader.primitive).found


def _reading(
    run: RunKernel,
    results: Mapping[Register, int],
    known: dict[_Reading, Function],
) -> RunKernel:
    """A kernel that reads appended results wherever their slices lie; `known` are those made."""
    axes = {place: results[r] for place, r in enumerate(run.inputs) if r in results}
    if not axes:
        return run
    key = run.primitive, tuple(axes.items())
    if key not in known:
        known[key] = with_spaced_inputs(run.primitive, axes)
    return replace(run, primitive=known[key])
