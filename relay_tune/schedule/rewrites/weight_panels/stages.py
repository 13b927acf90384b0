"""Products of stored weights with panels of converted ones between."""

from __future__ import annotations

from dataclasses import replace

from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.weight_panels.match import StoredProduct, stored_product
from relay_tune.tensor.expression import Reduce, Scalar
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, compute, panels_of
from relay_tune.tensor.walk import replace_nodes, substitute


def panel_program(program: TensorProgram, columns: int) -> TensorProgram | None:
    """The program with converted weights in panels of so many columns; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = stored_product(rewriting.rebuilt(stage), rewriting.constants)
        return None if found is None else _in_panels(found, columns)

    return with_rewritten_stages(program, rewrite)


def _in_panels(found: StoredProduct, columns: int) -> Computed | None:
    """The product that reads panels; None where its columns are no whole number of them."""
    count, rest = divmod(found.column.extent, columns)
    if rest:
        return None
    weights = found.weights

    def element(number: Scalar, *at: Scalar) -> Scalar:
        *steps, index = at
        indices = dict(zip(found.steps, steps, strict=True))
        return substitute(weights, {**indices, found.column: number * columns + index})

    steps = (axis.extent for axis in found.steps)
    made = compute(f"{weights.tensor.name}_panels", (count, *steps, columns), element)
    panels = panels_of(made)
    total = found.stage.body
    assert isinstance(total, Reduce)
    column = found.column
    own = panels[(column // columns, *found.steps, column % columns)]
    return replace(found.stage, body=replace(total, body=replace_nodes(total.body, {weights: own})))
