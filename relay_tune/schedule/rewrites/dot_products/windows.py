"""Words of windows whose elements are used by few sums: they are put together in registers.

A depthwise convolution uses each element for its own taps alone, so that a copy of words would cost
as much as it saves. A word of elements along the window serves several sums, whose weights are the
same taps at other offsets of the word:

    y[i, j] = sum(kh < 3, kw < 3) x[i + kh, j + kw] * w[kh, kw]                    i < 14

    y[i, j] = sum(kw < 3) dot(word(x[p, j + kw], .., x[p + 3, j + kw]), ws[i % 2, kw])
        where p = i // 2 * 2,  ws[0, kw] = word(w[0, kw], w[1, kw], w[2, kw], 0)
                               ws[1, kw] = word(0, w[0, kw], w[1, kw], w[2, kw])

So a word is made once for 2 x 3 sums, beside each other in a tile, of three taps each.
"""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.rewritten_stages import Rewriting
from relay_tune.schedule.rewrites.dot_products.elements import SIGN_BITS, constant_words, part
from relay_tune.schedule.rewrites.dot_products.match import (
    DotProducts,
    Operand,
    expression_of_multiples,
    sum_of_multiples,
)
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    select,
    word,
)
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.size import is_integer
from relay_tune.tensor.tensor import compute, words_of
from relay_tune.tensor.walk import axes_of, substitute


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """How the elements that a window covers become words.

    Attributes:
        taps: elements of the window.
        axis: the output axis along which it moves, None where a word serves one sum.
        stride: how many elements it moves.
        sums: how many sums beside each other on that axis a word serves.
        words: how many words these sums read.
        distance: elements from the beginning of a word to that of the next one.
    """

    taps: int
    axis: Axis | None
    stride: int
    sums: int
    words: int
    distance: int

    @property
    def covered(self) -> int:
        """The elements that the sums of a word read."""
        return self.taps + (self.sums - 1) * self.stride


def window_of(found: DotProducts) -> Window | None:
    """The words of a window that are better made in registers; None where there is no such."""
    moving = [each for each in found.operands if not each.is_aligned]
    if len(moving) != 1:
        return None
    (data,) = moving
    if is_float(data.dtype):
        return None
    taps = found.left if data is found.right else found.right
    used = {term for index in data.load.indices for term in sum_of_multiples(index).terms}
    if (
        not taps.is_whole
        or taps.offset
        or any(axis not in used and axis.extent != 1 for axis in found.stage.axes)
    ):
        return None
    axis = _moved_along(data, found.stage.axes)
    stride = 1 if axis is None else data.start.coefficient(axis)
    most = 1 if axis is None or not is_integer(axis.extent) else data.group
    windows = (
        _window(found.axis.extent, axis, stride, sums, data.group)
        for sums in range(most, 0, -1)
        if axis is None or sums == 1 or axis.extent % sums == 0
    )
    return next((each for each in windows if each is not None), None)


def _moved_along(data: Operand, axes: tuple[Axis, ...]) -> Axis | None:
    """The axis along which a window moves in whole steps, if words can serve several sums."""
    terms = [axis for axis in data.start.terms if isinstance(axis, Axis) and axis in axes]
    if data.step != 1 or len(terms) != 1 or len(data.start.terms) != 1:
        return None
    others = (index for n, index in enumerate(data.load.indices) if n != data.dimension)
    return None if terms[0] in axes_of(*others) else terms[0]


def _window(taps: int, axis: Axis | None, stride: int, sums: int, group: int) -> Window | None:
    """A window whose sums want no more words together than each alone; None if they do."""
    covered = taps + (sums - 1) * stride
    words = -(-covered // group)
    if words > -(-taps // group):
        return None
    if words == 1:
        return Window(taps, axis, stride, sums, 1, group)
    distance, rest = divmod(covered - group, words - 1)
    return None if rest else Window(taps, axis, stride, sums, words, distance)


def data_word(operand: Operand, window: Window, step: Axis, rewriting: Rewriting) -> Scalar:
    """The word of data at a step; behind what sums read, zeros stand in it."""
    source, dimension = rewriting.now(operand.load.tensor), operand.dimension
    indices = operand.load.indices
    start = expression_of_multiples(operand.start, 1)
    if window.axis is not None and window.sums > 1:
        first = window.axis // window.sums * window.sums
        start = substitute(start, {window.axis: first})
    dtype = source.dtype if operand.offset else operand.dtype
    elements: list[Scalar] = []
    for number in range(operand.group):
        if number >= window.covered:
            elements.append(literal(0, dtype))
            continue
        at = start + (step * window.distance + number) * operand.step
        element = source[(*indices[:dimension], at, *indices[dimension + 1 :])]
        elements.append(cast(element, dtype))
    made = word(elements)
    return binary("xor", made, SIGN_BITS) if operand.offset else made


def weight_word(operand: Operand, window: Window, step: Axis, rewriting: Rewriting) -> Scalar:
    """The word of taps at a step: zeros where a sum does not read what the word has."""
    source, dimension, group = operand.load.tensor, operand.dimension, operand.group
    shape, indices = source.shape, operand.load.indices

    def element(*at: Scalar) -> Scalar:
        which, *others, inner = at
        number, offset_in_word = inner // group, inner % group
        tap = number * window.distance + offset_in_word - which * window.stride
        inside = binary("and", binary("ge", tap, 0), binary("lt", tap, window.taps))
        repeated = group - window.distance
        if repeated:
            is_new = binary("or", binary("lt", number, 1), binary("ge", offset_in_word, repeated))
            inside = binary("and", inside, is_new)
        now = rewriting.now(source)
        return select(
            inside, part(operand, now[(*others[:dimension], tap, *others[dimension:])]), 0
        )

    others = (*shape[:dimension], *shape[dimension + 1 :])
    taps = compute(f"{source.name}_taps", (window.sums, *others, window.words * group), element)
    made = words_of(taps, group)
    words: Tensor = made
    if source in rewriting.constants:
        words = constant_words(made, source, rewriting)
    which = 0 if window.axis is None else window.axis % window.sums
    return words[(which, *indices[:dimension], *indices[dimension + 1 :], step)]
