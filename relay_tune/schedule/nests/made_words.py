"""Which operands of dot products a reduction makes in registers.

y[i, j] = sum(k) dot(word(x[i, j + k], x[i + 1, j + k], ..), w[k])      word(x[i, j + k], ..)
y[i, j] = sum(k) dot(xor(x[i, k], 0x80808080), w[k, j])                 xor(x[i, k], 0x80808080)
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import DOT_PRODUCTS, Binary, Load, Scalar


def made_words(nest: Nest) -> tuple[Scalar, ...]:
    """The operands of dot products in the body of a nest that are no words in memory."""
    body = nest.body
    if not isinstance(body, Binary) or body.operation not in DOT_PRODUCTS:
        return ()
    return tuple(side for side in (body.left, body.right) if not isinstance(side, Load))


def in_row(elements: Sequence[Scalar]) -> Load | None:
    """The first one of elements that lie side by side in memory; None if they do not."""
    loads = [element for element in elements if isinstance(element, Load)]
    if len(loads) != len(elements) or len({load.tensor for load in loads}) != 1:
        return None
    forms = [axis_affine(load.indices[-1]) for load in loads]
    first = forms[0]
    if first is None or any(form != first.shift(n) for n, form in enumerate(forms)):
        return None
    outer = {load.indices[:-1] for load in loads}
    return loads[0] if len(outer) == 1 else None
