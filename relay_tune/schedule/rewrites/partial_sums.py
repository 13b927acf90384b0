"""Sums that are much longer than there are results, in parts whose operands stay in L2.

    before:  y[i, o] = sum(n, h, w) x[n, h, w, i] * d[n, h, w, o]
    after:   p[n, i, o] = sum(h, w) x[n, h, w, i] * d[n, h, w, o]
             y[i, o] = sum(n) p[n, i, o]

More parts than threads would have use for are added up where they are stored, several in one sum:

    p[s, i, o] = 0;  for n in n(s): p[s, i, o] += sum(h, w) x[n, h, w, i] * d[n, h, w, o]
    y[i, o] = sum(s) p[s, i, o]

The gradients of weights are such sums: as long as there are pixels in all images. A register tile
would read its columns of both operands over the whole length, and so would the next one, so that
all comes from memory again and again. A part is short enough that both operands lie in the second
cache until all tiles have read them; copies in panels are made part by part where `rows` follows.
Which parts there are depends on nothing but the program, so that the results are the same bits on
any number of threads, which may each take sums of their own.

    turned:  p[n, o, i] = sum(h, w) d[n, h, w, o] * x[n, h, w, i]
             y[i, o] = sum(n) p[n, o, i]

Vectors go along the last axis of a part. Where the operand with few columns has them, its rows lie
in a line, and nothing is copied into panels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.machine.machine import LINE_ELEMENTS
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.nests.carried_sums import parts_of, with_carried_sum
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.panels import lies_as_panel
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Load,
    Reduce,
    Scalar,
    Tensor,
    index_value,
    reduce,
)
from relay_tune.tensor.index import flat_place
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import axes_of, loads, substitute

PART_STEPS = (256, 512)
"""Steps of a part: few keep its operands in L2, many leave fewer parts to add up.

Batches of sums, as those of Winograd's filtering, are offered both, others the first: longer parts
took 0.98 to 1.09 of the time (decision 147)."""

MOST_SUMS = 8
"""Parts, or sums of several, that are stored. Of 64 parts of 512 KB, which went to memory and came
back, 1x1 weights with step 2 waited for a tenth of the time."""

NEAR_RESULTS = 128 << 10
"""Numbers that the results of all parts may be: so few stay in the second cache, where adding them
up at the end costs nothing, and panels can be copied part by part."""

PARTS = "_parts"
"""How names of stages end that are parts of a sum."""

LEAST_PARTS = 4
"""Fewer are not worth the second sum."""

LEAST_USES = 4
"""How often each element of an operand is used; what is read once has no need to stay in L2."""


@dataclass(frozen=True, slots=True)
class PartialSums(Parameters):
    """Parameters of partial_sums.

    Attributes:
        steps: of a part, at most.
        turned: whether the columns of the other operand come last in a part.
    """

    steps: int = parameter(among=PART_STEPS)
    turned: bool = parameter(among=(False, True), default=False, orders_sums=False)


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    constants = {tensor for tensor, _ in program.constants}
    stages = [stage for stage in tensors_in_order(program.outputs) if isinstance(stage, Computed)]
    for steps in PART_STEPS:
        worth = stages if steps == PART_STEPS[0] else filter(_is_batch, stages)
        found = [stage for stage in worth if sum_parts(stage, steps, constants)]
        if found:
            yield PartialSums(steps)
        if any(_is_worth_turning(stage) for stage in found):
            yield PartialSums(steps, turned=True)


def partial_sums_program(program: TensorProgram, parameters: PartialSums) -> TensorProgram | None:
    """The program with its long sums in parts; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        parts = sum_parts(stage, parameters.steps, rewriting.constants)
        if parts is None:
            return None
        last = other_column(stage) if parameters.turned else None
        return _in_parts(rewriting.rebuilt(stage), parts, last)

    return with_rewritten_stages(program, rewrite)


def sum_parts(stage: Computed, steps: int, constants: Collection[Tensor]) -> tuple[int, ...] | None:
    """How many parts each axis of a stage's sum is cut into; None where it is not worth it."""
    body = stage.body
    if (
        not isinstance(body, Reduce)
        or body.operation != "sum"
        or not body.dtype.startswith("float")
    ):
        return None
    if not isinstance(body.body, Binary) or body.body.operation != "mul":
        return None
    extents = [axis.extent for axis in body.axes]
    if any(map(is_symbolic, (*stage.shape, *extents))) or 2 * prod(extents) < LEAST_PARTS * steps:
        return None
    operands = {load.tensor for load in loads(body.body)}
    if len(operands) < 2 or operands & set(constants):
        return None
    parts = _stored(extents, steps, prod(stage.shape))
    if any(_tears_lines(load, body.axes, parts) for load in loads(body.body)):
        return None
    results, length = prod(stage.shape), prod(extents)
    sizes = [prod(tensor.shape) for tensor in operands]
    if results * length < LEAST_USES * max(sizes) or prod(parts) * results > sum(sizes):
        return None
    count = prod(parts_of(extents, steps))
    return parts if prod(parts) >= LEAST_PARTS and 2 * length >= count * steps else None


def _is_batch(stage: Computed) -> bool:
    """Whether a stage has sums of several pairs of matrices: both operands depend on an axis."""
    return any(
        all(axis in axes_of(*load.indices) for load in loads(stage.body)) for axis in stage.axes
    )


def _stored(extents: Sequence[int], steps: int, results: int) -> tuple[int, ...]:
    """Into how many parts each axis is cut that have results of their own."""
    all_parts = parts_of(extents, steps)
    if prod(all_parts) * results <= NEAR_RESULTS:
        return all_parts
    return parts_of(extents, max(steps, -(-prod(extents) // MOST_SUMS)))


def _tears_lines(load: Load, axes: Sequence[Axis], parts: Sequence[int]) -> bool:
    """Whether several parts would read the same lines of an operand, or it is not known."""
    form = axis_affine(flat_place(load.tensor.shape, load.indices))
    if form is None:
        return True
    cut = [
        abs(form.coefficient(axis)) * (axis.extent // count)
        for axis, count in zip(axes, parts, strict=True)
        if count > 1
    ]
    return any(0 < apart < LINE_ELEMENTS for apart in cut)


def other_column(stage: Computed) -> int | None:
    """The position of the axis along which an operand lies in a line that has not the last axis."""
    assert isinstance(stage.body, Reduce)
    for load in loads(stage.body.body):
        form = axis_affine(flat_place(load.tensor.shape, load.indices))
        if form is None or form.coefficient(stage.axes[-1]):
            continue
        for position, axis in enumerate(stage.axes):
            if form.coefficient(axis) == 1 and axis.extent > 1:
                return position
    return None


def _is_worth_turning(stage: Computed) -> bool:
    """Whether the other operand needs no copy, and the one with the last axis does.

    Turned without that, gradients of 3x3 taps took 20.3 in place of 19.1 ms.
    """
    position = other_column(stage)
    if position is None or stage.shape[position] < LINE_ELEMENTS:
        return False
    return _is_panel(stage, stage.axes[position]) and not _is_panel(stage, stage.axes[-1])


def _is_panel(stage: Computed, column: Axis) -> bool:
    """Whether the operand with a column is a panel as it lies."""
    assert isinstance(stage.body, Reduce)
    forms = [
        axis_affine(flat_place(load.tensor.shape, load.indices)) for load in loads(stage.body.body)
    ]
    mine = [form for form in forms if form is not None and form.coefficient(column)]
    rows = [axis for axis in stage.body.axes if axis.extent > 1]
    return all(lies_as_panel(form, rows, column) for form in mine)


def _in_parts(stage: Computed, parts: Sequence[int], last: int | None) -> Computed:
    """The stage as the sum of its parts, whose axis `last` comes last; as it stands if None."""
    return sum_of_parts(stage, part_of_sum(stage, [parts], last), last)


def part_of_sum(stage: Computed, cuts: Sequence[Sequence[int]], last: int | None) -> Computed:
    """The sums over parts of the axes of a stage's sum, the numbers of parts first.

    Each of `cuts` says into how many parts each axis is cut, what one leaves the next cuts again.
    """
    whole = stage.body
    assert isinstance(whole, Reduce)
    counted = [(axis, count) for cut in cuts for axis, count in zip(whole.axes, cut, strict=True)]
    counted = [(axis, count) for axis, count in counted if count > 1]
    order = _order(stage, last)

    def part(*positions: Scalar) -> Scalar:
        given = dict(zip(order, positions[len(counted) :], strict=True))
        own: dict[Axis, Scalar] = {
            axis: given[position] for position, axis in enumerate(stage.axes)
        }
        steps: list[Axis] = []
        for axis in whole.axes:
            length, start = axis.extent, index_value(0)
            for (cut, count), number in zip(counted, positions, strict=False):
                if cut is axis:
                    length //= count
                    start = start + number * length
            own[axis] = start
            if length > 1 or length == axis.extent:
                steps.append(Axis(axis.name, length))
                own[axis] = start + steps[-1]
        return replace(whole, axes=tuple(steps), body=substitute(whole.body, own))

    counts = [count for _, count in counted]
    shape = (*counts, *(stage.shape[position] for position in order))
    return compute(f"{stage.name}{PARTS}", shape, part)


def sum_of_parts(stage: Computed, partial: Tensor, last: int | None) -> Computed:
    """What a stage computes as the sum of the results of its parts, which `part_of_sum` orders."""
    order = _order(stage, last)
    counts = partial.shape[: len(partial.shape) - len(order)]

    def total(*at: Scalar) -> Scalar:
        numbers = [Axis("part", count) for count in counts]
        return reduce("sum", numbers, partial[(*numbers, *(at[position] for position in order))])

    return compute(stage.name, stage.shape, total)


def _order(stage: Computed, last: int | None) -> list[int]:
    """The positions of a stage's axes in the order in which its parts have them."""
    order = list(range(len(stage.shape)))
    if last is not None:
        order.append(order.pop(last))
    return order


def _carried(nest: Nest, parameters: PartialSums) -> Nest:
    """A nest that stores sums of several parts adds these up in turn."""
    return with_carried_sum(nest, parameters.steps) if nest.name.endswith(PARTS) else nest


PARTIAL_SUMS = Algorithm(
    "partial_sums",
    _offers,
    PartialSums,
    rewritten=partial_sums_program,
    nest=_carried,
    follows=(WINOGRAD,),
    saving=1.0,
)
"""Long sums of products of arguments, in parts."""
