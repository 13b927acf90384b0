"""Kernels whose results may lie in the memory of an input, and the results of a program that do.

Parameters of kernels are said to be apart, so that LLVM may order loads and stores. Where an input
and an output of the program may share memory, and the loop nests allow that, their kernel does not
say so of these two; it runs the same with memory apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relay_tune.building.primitive import Primitive
from relay_tune.first_order.in_place_outputs import PossibleInPlace
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.expr import Function
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.in_place import can_be_in_place
from relay_tune.tensor.loops import Kernel

Pairs = frozenset[tuple[int, int]]
"""Inputs and outputs of a primitive by number."""


def with_pairs(
    primitives: Mapping[Function, Primitive], possible: Iterable[PossibleInPlace]
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
    allowed: Mapping[Function, Pairs],
) -> FirstOrderProgram:
    """The program whose entry says which results may lie in the memory of inputs.

    `allowed` are the pairs of each primitive that its kernels allow.
    """
    found = tuple(
        each.pair for each in possible if (each.read, each.written) in allowed[each.function]
    )
    return replace(program, entry=replace(program.entry, in_place=found))
