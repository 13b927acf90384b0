"""Kernels that wait: so that independent calls of one kernel can run together.

before: encode(node):  ...  p = run dense(x);  ...  h = encode(child);  q = run dense(h)
after:  encode(node):  ...  p = defer dense(x);  ...  h = encode(child);  q = defer dense(h)

A deferred kernel is only noted, with its arguments and its results, which are objects without
elements yet; when elements are needed, all that waits is run, what is equally deep in the data flow
together (`relay_tune.codegen.programs.queue_functions`). That pays where recursion leads to many
calls of a kernel before any result is looked at: over trees, for instance. So kernels wait

- if the program repeats a kernel with large constants whose calls can be joined by rows, and
- unless the recursion they are part of looks at elements itself: then nothing would ever collect;
- unless it is a loop in which each call needs the result of the one before
  (`relay_tune.program.chained_kernels`);
- in programs all of whose sizes are known.

After M. Looks et al., "Deep learning with dynamic computation graphs" (ICLR 2017), and G. Neubig,
Y. Goldberg and C. Dyer, "On-the-fly operation batching in dynamic computation graphs" (2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain

from relay_tune.ir.expr import Call, Function
from relay_tune.ir.reached import reached
from relay_tune.ir.structural import structural_hash
from relay_tune.op.index_check import index_extent
from relay_tune.program.chained_kernels import is_chained
from relay_tune.program.instructions import (
    CallFunction,
    ComputeScalars,
    DeferKernel,
    Instruction,
    MakeObject,
    Release,
    Reshape,
    RunKernel,
)
from relay_tune.program.kinds import ScalarKind, function_type, is_counted
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.row_batches import with_rows
from relay_tune.program.split_epilogue import (
    SplitPrimitive,
    is_worth_joining,
    split_epilogue,
    waiting_part,
)
from relay_tune.program.terminators import TailCall
from relay_tune.program.values import new_registers
from relay_tune.typing.call_graph import strongly_connected

BATCH_ROWS = (64, 16, 12, 8, 6, 4, 2)
"""How many calls are joined: with the most, arithmetic takes far longer than to fetch the weights;
fewer leave few rows without a call. All read the weights in the same packed order."""


def with_deferred_kernels(program: FirstOrderProgram) -> FirstOrderProgram:
    """The program with kernels deferred where calls can be joined; else the program itself."""
    if program.is_open:
        return program
    uses = {name: tuple(_uses(f, program)) for name, f in program.functions.items()}
    cycles = [group for group in strongly_connected(uses) if _is_cycle(group, uses)]
    repeated = set(reached(chain.from_iterable(cycles), uses.__getitem__))
    looking = (group for group in cycles if _looks(group, program))
    eager = set(reached(chain.from_iterable(looking), uses.__getitem__))
    loops = _lone_loops(cycles, program, uses)
    runs = [
        (program.functions[name], instruction)
        for name in repeated - eager
        for instruction in _instructions(program.functions[name])
        if isinstance(instruction, RunKernel)
        and _can_wait(instruction)
        and is_worth_joining(instruction.primitive)
    ]
    products = [structural_hash(waiting_part(run.primitive)[0]) for _, run in runs]
    counts = Counter(products)
    joined = _JoinedKernels()
    for (function, run), product in zip(runs, products, strict=True):
        is_alone = function.name in loops and counts[product] == 1
        if not (is_alone and is_chained(run, function)):
            joined.add(run.primitive)
    if not joined.batches:
        return program
    functions = {
        name: function if name in eager else _deferred(function, joined)
        for name, function in program.functions.items()
    }
    return replace(program, functions=functions, batches=joined.batches)


class _JoinedKernels:
    """Kernels of which several calls can be one, and the primitives that they are parts of."""

    def __init__(self) -> None:
        self.batches: dict[Function, Mapping[int, Function]] = {}
        self.splits: dict[Function, SplitPrimitive] = {}

    def add(self, primitive: Function) -> None:
        """Take a primitive, or its product alone, if that is possible."""
        split = split_epilogue(primitive)
        product = primitive if split is None else split.product
        found = {rows: with_rows(product, rows) for rows in BATCH_ROWS}
        batches = {rows: batched for rows, batched in found.items() if batched is not None}
        if batches:
            self.batches[product] = batches
            if split is not None:
                self.splits[primitive] = split


def _uses(function: FirstOrderFunction, program: FirstOrderProgram) -> Iterator[str]:
    """The functions that a function calls, or makes closures of."""
    yield from _uses_inside(function, program)
    for block in function.blocks:
        if isinstance(block.terminator, TailCall):
            yield block.terminator.function


def _uses_inside(function: FirstOrderFunction, program: FirstOrderProgram) -> Iterator[str]:
    """The same but for what it returns the results of."""
    for instruction in _instructions(function):
        match instruction:
            case CallFunction():
                yield instruction.function
            case MakeObject() if instruction.layout.number in program.closure_code:
                yield program.closure_code[instruction.layout.number]


def _is_cycle(group: tuple[str, ...], uses: Mapping[str, tuple[str, ...]]) -> bool:
    return len(group) > 1 or group[0] in uses[group[0]]


def _lone_loops(
    cycles: Sequence[tuple[str, ...]],
    program: FirstOrderProgram,
    uses: Mapping[str, tuple[str, ...]],
) -> set[str]:
    """Functions that call themselves as their last act alone, and that a program begins once."""
    repeated = {name for group in cycles for name in group}
    users: dict[str, list[str]] = {name: [] for name in uses}
    for name, used in uses.items():
        for other in used:
            if other != name:
                users[other].append(name)
    return {
        name
        for name, *others in cycles
        if not others
        and name not in _uses_inside(program.functions[name], program)
        and _begins_once(name, users, repeated)
    }


def _begins_once(name: str, users: Mapping[str, Sequence[str]], repeated: Set[str]) -> bool:
    """Whether one function uses this one, in one place, and the same holds of that function."""
    while users[name]:
        user, *others = users[name]
        if others or user in repeated:
            return False
        name = user
    return True


def _looks(group: tuple[str, ...], program: FirstOrderProgram) -> bool:
    """Whether functions make numbers in registers of the elements of tensors.

    Checks of indices count for nothing: they come before kernels that would wait for the indices.
    """
    return any(
        any(isinstance(result.kind, ScalarKind) for result in instruction.results)
        and any(is_counted(operand.kind) for operand in instruction.borrowed)
        for name in group
        for instruction in _instructions(program.functions[name])
        if isinstance(instruction, RunKernel | Reshape) and not _is_extent(instruction)
    )


def _is_extent(instruction: Instruction) -> bool:
    """Whether an instruction finds what a check of indices asks for."""
    if not isinstance(instruction, RunKernel):
        return False
    body = instruction.primitive.body
    return isinstance(body, Call) and body.callee is index_extent


def _instructions(function: FirstOrderFunction) -> Iterator[Instruction]:
    return (i for block in function.blocks for i in block.instructions)


def _can_wait(instruction: Instruction) -> bool:
    """Whether an instruction runs a kernel whose results are tensors."""
    return (
        isinstance(instruction, RunKernel)
        and not isinstance(instruction, ComputeScalars)
        and all(is_counted(output.kind) for output in instruction.outputs)
    )


def _deferred(function: FirstOrderFunction, joined: _JoinedKernels) -> FirstOrderFunction:
    blocks = tuple(
        replace(
            block,
            instructions=tuple(w for i in block.instructions for w in _waiting(i, joined)),
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks)


def _waiting(instruction: Instruction, joined: _JoinedKernels) -> Iterator[Instruction]:
    """An instruction, deferred if it can be; two where its product is a kernel of its own."""
    if not isinstance(instruction, RunKernel) or not _can_wait(instruction):
        yield instruction
        return
    inputs, outputs = instruction.inputs, instruction.outputs
    split = joined.splits.get(instruction.primitive)
    if split is None:
        yield DeferKernel(instruction.primitive, inputs, outputs)
        return
    (product,) = new_registers(function_type(split.product).result)
    yield DeferKernel(split.product, tuple(inputs[n] for n in split.places), (product,))
    others = (inputs[n] for n in split.epilogue_places)
    yield DeferKernel(split.epilogue, (product, *others), outputs)
    yield Release(product)
