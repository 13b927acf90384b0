"""Words of neighbours in a row, which are loaded where they lie and spread over lanes.

A first convolution has few channels, of which words would be filled up. Along the rows of a window
they are nearly full, and each begins at any byte, without a copy:

    y[i, j, o] = sum(c < 3, kh < 7, kw < 7) x[c, 2 * i + kh, 2 * j + kw] * w[kh, kw, c, o]

    y[i, j, o] = sum(c < 3, kh < 7, s < 2) dot(word(x[c, 2 * i + kh, 2 * j + 4 * s], .. + 3),
                                               ws[kh, s, c, o])

in 42 words instead of the 49 of three channels and a zero. The last word of a window has elements
that the window does not: their weights are zeros. Where the rows end before, they are copied to
rows that do not.
"""

from __future__ import annotations

from relay_tune.schedule.nests.rewritten_stages import Rewriting
from relay_tune.schedule.rewrites.dot_products.elements import SIGN_BITS, part
from relay_tune.schedule.rewrites.dot_products.match import Operand, expression_of_multiples
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, select, word
from relay_tune.tensor.index import axis_range
from relay_tune.tensor.tensor import Input, compute


def neighbour_word(operand: Operand, step: Axis, rewriting: Rewriting) -> Scalar:
    """The word of data at a step; behind the window it has whatever lies there."""
    source = _long_rows(operand, step.extent, rewriting)
    first = expression_of_multiples(operand.start, 1) + step * operand.group
    before = operand.load.indices[:-1]
    made = word([source[(*before, first + n)] for n in range(operand.group)])
    return made if source.dtype == operand.dtype else binary("xor", made, SIGN_BITS)


def _long_rows(operand: Operand, words: int, rewriting: Rewriting) -> Tensor:
    """An operand's tensor, whose rows do not end before the last word of a window.

    Itself, if it is so and is in memory anyway; else a copy, whose rows end with zeros.
    """
    source = rewriting.now(operand.load.tensor)
    *outer, size = source.shape
    needed = operand.start.bounds(axis_range)[1] + words * operand.group
    if needed <= size and isinstance(source, Input):
        return source

    def element(*at: Scalar) -> Scalar:
        value = part(operand, source[at])
        return value if needed <= size else select(binary("lt", at[-1], size), value, 0)

    return compute(f"{source.name}_rows", (*outer, max(needed, size)), element)
