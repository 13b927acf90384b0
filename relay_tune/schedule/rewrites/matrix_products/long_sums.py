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

from collections.abc import Collection, Iterator
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.algorithm import Parameters, parameter
from relay_tune.schedule.rewrites.carried_parts import added_up, cut_sum
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product
from relay_tune.schedule.rewrites.matrix_products.operands import rows_in_registers
from relay_tune.schedule.rewrites.matrix_products.stages import product_stages
from relay_tune.schedule.rewrites.partial_sums import other_column, sum_of_parts
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed

PART_STEPS = (128, 256)
"""Steps of a part, at most: the first where lines of images fill registers. Of 512 columns beside
256 rows and 128 steps, what is stored of this part and asked for of the next, and the results, take
1.2 MB of a second cache."""


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
        last: the position of the axis of the result that comes last; None if that does.
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
        sums = added_up(product_stages(product, rewriting, left), parts.stored, len(stage.shape))
        return sum_of_parts(stage, sums, parts.last)

    return with_rewritten_stages(program, rewrite)


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
    cut = cut_sum(stage, parameters.steps, constants, last)
    if cut is None:
        return None
    product = match_matrix_product(cut.part, constants, form)
    if product is None:
        return None
    found = form.along([axis.extent for axis in product.steps])
    return None if found is None else _Parts(cut.stored, last, product, found)


def _multiplications(stage: Computed) -> int:
    assert isinstance(stage.body, Reduce)
    return prod((*stage.shape, *(axis.extent for axis in stage.body.axes)))
