"""Long sums of products of arguments on matrix registers, part by part.

    before:  y[i, o] = sum(n, s) x[n, s, i] * d[n, s, o]
    after:   for m, c:  n = m * C + c
               x'[p, i, s] = part p of x[n, s, i];  d'[..] = parts of d[n, s, o] in groups
               z[m, i, o] = (z[m, i, o] if c > 0 else 0) + sum(s) x'1 * d'0 + x'0 * d'0 + x'0 * d'1
             y[i, o] = sum(m) z[m, i, o]

The gradients of weights are such sums (`relay_tune.schedule.rewrites.partial_sums`). Both operands
are arguments, which have to be stored as bfloat16 first, in an order that registers read: part by
part these copies stay in the second cache, and each operand comes from memory once. The sums of
which parts are added up depend on nothing but the program: these may run on threads of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.carried_sums import carrying, parts_of
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.algorithm import Parameters, parameter
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product
from relay_tune.schedule.rewrites.matrix_products.operands import rows_in_registers
from relay_tune.schedule.rewrites.matrix_products.stages import product_stages
from relay_tune.schedule.rewrites.partial_sums import (
    other_column,
    part_of_sum,
    sum_of_parts,
    sum_parts,
)
from relay_tune.schedule.rewrites.products import Product
from relay_tune.schedule.row_groups.grouped_steps import grouped_steps
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Reduce, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import substitute

PART_STEPS = (128, 256)
"""Steps of a part, at most: the first where lines of images fill registers. Of 512 columns beside
256 rows and 128 steps, what is stored of this part and asked for of the next, and the results, take
1.2 MB of a second cache."""

SUM_STEPS = (512, 256)
"""Steps of a sum whose result is stored by itself, at least: shorter ones where these are few."""

CARRIED = "carried"
"""How axes of a sum are called that count its parts."""


@dataclass(frozen=True, slots=True)
class LongSums(Parameters):
    """Parameters of long sums on matrix registers.

    Attributes:
        steps: of a part, at most.
        turned: whether the columns of the other operand come last in a part.
    """

    steps: int = parameter(among=PART_STEPS)
    turned: bool = parameter(among=(False, True), default=False, orders_sums=False)


@dataclass(frozen=True, eq=False, slots=True)
class _Parts:
    """A sum in parts.

    Attributes:
        stored: into how many sums each axis is cut whose results are stored.
        last: the place of the axis of the result that comes last; None if that does.
        product: of one part.
        form: of its operands.
    """

    stored: tuple[int, ...]
    last: int | None
    product: Product
    form: Form


def offered_long_sums(program: TensorProgram, form: Form, least: int) -> Iterator[LongSums]:
    """The parameters that are worth a look, for sums of so many multiplications at least."""
    constants = {tensor for tensor, _ in program.constants}
    stages = [stage for stage in tensors_in_order(program.outputs) if isinstance(stage, Computed)]
    for turned in (False, True):
        for found in (LongSums(steps, turned) for steps in PART_STEPS):
            cut = [stage for stage in stages if _parts(stage, found, form, constants)]
            if cut and sum(map(_multiplications, cut)) >= least:
                yield found
                break


def long_sums_program(
    program: TensorProgram, parameters: LongSums, form: Form
) -> TensorProgram | None:
    """The program with its long sums in parts, and products in a form; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        parts = _parts(stage, parameters, form, rewriting.constants)
        if parts is None:
            return None
        product, data = parts.product, rewriting.now(parts.product.data.tensor)
        left = rows_in_registers(product, data, parts.form)
        sums = _added(product_stages(product, rewriting, left), parts.stored, len(stage.shape))
        return sum_of_parts(stage, sums, parts.last)

    return with_rewritten_stages(program, rewrite)


def carried_parts(nest: Nest) -> Nest:
    """The nest with the parts of its sum around its tiles, if it has some."""
    return carrying(nest, [axis for axis in nest.reduction if axis.name.startswith(CARRIED)])


def grouped_parts(
    nests: Sequence[Step], outputs: Sequence[Tensor], _: LongSums
) -> Sequence[Step | RowBlocks]:
    """The nests of a part together."""
    return grouped_steps(nests, outputs, 1, most_row_bytes=MAXIMUM_LOCAL_BYTES)


def _parts(
    stage: Computed, parameters: LongSums, form: Form, constants: Collection[Tensor]
) -> _Parts | None:
    """A sum in parts that fill registers; None if it is none, or they do not."""
    body = stage.body
    if not isinstance(body, Reduce) or len(stage.shape) < 2 or stage.dtype != form.types.sums:
        return None
    last = other_column(stage) if parameters.turned else len(stage.shape) - 1
    if last is None or is_symbolic(stage.shape[last]) or stage.shape[last] % form.columns:
        return None
    if parameters.turned and last == len(stage.shape) - 1:
        return None
    sums = (sum_parts(stage, steps, constants) for steps in SUM_STEPS)
    stored = next(filter(None, sums), None)
    if stored is None:
        return None
    rest = [axis.extent // count for axis, count in zip(body.axes, stored, strict=True)]
    partial = part_of_sum(stage, (stored, parts_of(rest, parameters.steps)), last)
    product = match_matrix_product(partial, constants, form)
    if product is None:
        return None
    found = form.along([axis.extent for axis in product.steps])
    return None if found is None else _Parts(stored, last, product, found)


def _added(stage: Computed, stored: Sequence[int], rank: int) -> Computed:
    """The products of parts, those of each stored sum of this rank added up."""
    first, end = sum(count > 1 for count in stored), len(stage.shape) - rank
    whole, axes = stage.body, stage.axes[first:end]
    assert isinstance(whole, Reduce)
    carried = [Axis(CARRIED, axis.extent) for axis in axes]
    body = substitute(whole.body, dict(zip(axes, carried, strict=True)))
    return Computed(
        name=stage.name,
        shape=(*stage.shape[:first], *stage.shape[end:]),
        dtype=stage.dtype,
        axes=(*stage.axes[:first], *stage.axes[end:]),
        body=replace(whole, axes=(*carried, *whole.axes), body=body),
    )


def _multiplications(stage: Computed) -> int:
    assert isinstance(stage.body, Reduce)
    return prod((*stage.shape, *(axis.extent for axis in stage.body.axes)))
