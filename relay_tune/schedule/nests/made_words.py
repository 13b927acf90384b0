"""Which operands of dot products a reduction puts together in registers.

y[i, j] = sum(k) dot(word(x[i, j + k], x[i + 1, j + k], ..), w[k])      word(x[i, j + k], ..)
"""

from __future__ import annotations

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import DOT_PRODUCTS, Binary, Scalar, Word
from relay_tune.tensor.walk import sub_expressions


def made_words(nest: Nest) -> tuple[Scalar, ...]:
    """The operands of dot products in the body of a nest that are made of narrow elements."""
    body = nest.body
    if not isinstance(body, Binary) or body.operation not in DOT_PRODUCTS:
        return ()
    sides = (body.left, body.right)
    return tuple(s for s in sides if any(isinstance(n, Word) for n in sub_expressions(s)))
