"""Kernels whose results may lie in the memory of an input, and the results of a program that do.

Parameters of kernels are said to be apart, so that LLVM may order loads and stores. Where an input
and an output of the program may share memory, and the loop nests allow that, their kernel does not
say so of these two; it runs the same with memory apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relay_tune.building.primitive import Primitive
from relay_tune.ir.expr import Function
from relay_tune.program.in_place_outputs import PossibleInPlace, PossibleReuse, Sharing
from relay_tune.program.instructions import Instruction, RunRegion
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.in_place import can_be_in_place
from relay_tune.tensor.loops import Kernel

Pairs = frozenset[tuple[int, int]]
"""Inputs and outputs of a primitive by number."""


def with_pairs(
    primitives: Mapping[Function, Primitive], possible: Iterable[Sharing]
) -> dict[Function, Primitive]:
    """Primitives with the pairs that a program could use; those of one key have one code.

    Kernels of dynamic sizes have none: whether memory fits is not known before they run.
    """
    wanted: dict[str, Pairs] = {}
    for each in possible:
        primitive = primitives[each.function]
        if primitive.open is not None:
            continue
        digest = primitive.key.digest
        wanted[digest] = wanted.get(digest, frozenset()) | {(each.read, each.written)}
    return {
        function: replace(primitive, in_place=wanted[primitive.key.digest])
        if primitive.key.digest in wanted
        else primitive
        for function, primitive in primitives.items()
    }


def with_shared_memory(scheduled: ScheduledProgram, pairs: Pairs) -> tuple[ScheduledProgram, Pairs]:
    """Kernels for those of the pairs that they allow, and these."""
    program, kernels = scheduled.program, scheduled.kernels
    found = frozenset(
        (read, written)
        for read, written in pairs
        if can_be_in_place(kernels, program.inputs[read], program.outputs[written])
    )
    shared = {tensor for r, w in found for tensor in (program.inputs[r], program.outputs[w])}
    if not shared:
        return scheduled, found
    return replace(scheduled, kernels=tuple(_sharing(each, shared) for each in kernels)), found


def _sharing(kernel: Kernel, tensors: set[Tensor]) -> Kernel:
    numbers = [n for n, tensor in enumerate(kernel.arguments) if tensor in tensors]
    return replace(kernel, shared=frozenset(numbers))


def with_in_place(
    program: FirstOrderProgram,
    possible: Sequence[PossibleInPlace],
    reuses: Sequence[PossibleReuse],
    allowed: Mapping[Function, Pairs],
) -> FirstOrderProgram:
    """The program whose entry says which results may lie in the memory of inputs.

    So do regions of results that may be objects which end there. `allowed` are the pairs of each
    primitive that its kernels allow.
    """

    def are_allowed(each: Sharing) -> bool:
        return (each.read, each.written) in allowed[each.function]

    found = tuple(each.pair for each in possible if are_allowed(each.sharing))
    taken: dict[Instruction, dict[int, int]] = {}
    for each in reuses:
        own = taken.setdefault(each.step, {})
        if are_allowed(each.sharing) and each.output not in own and each.input not in own.values():
            own[each.output] = each.input
    functions = {name: _reusing(function, taken) for name, function in program.functions.items()}
    return replace(program, entry=replace(program.entry, in_place=found), functions=functions)


def _reusing(
    function: FirstOrderFunction, taken: Mapping[Instruction, Mapping[int, int]]
) -> FirstOrderFunction:
    def with_reuses(each: Instruction) -> Instruction:
        known = taken.get(each)
        return replace(each, reuses=known) if known and isinstance(each, RunRegion) else each

    blocks = (
        replace(block, instructions=tuple(map(with_reuses, block.instructions)))
        for block in function.blocks
    )
    return replace(function, blocks=tuple(blocks))
