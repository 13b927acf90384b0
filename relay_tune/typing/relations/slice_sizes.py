"""How many elements `begin:end:stride` takes from an axis, with the meaning it has in Python."""

from __future__ import annotations

from relay_tune.ir.dim import UNKNOWN, Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import add, floor_divide, subtract

OPEN_END = 2**31 - 1
"""From here an end is none: exporters write the largest integer where Python writes nothing."""


def sliced_size(dim: Dim, begin: int | None, end: int | None, stride: int) -> Dim:
    """The size of `axis[begin:end:stride]`; `?` where it depends on the value of a symbol.

    A symbol is at least 1, so `n[1:]` has n - 1 elements; `n[2:]` may have n - 2 or none, which is
    `?`. A slice of a whole axis has its size: one of n - 2 elements tells that n is 2 or more.
    """
    if isinstance(dim, int):
        return len(range(*slice(begin, end, stride).indices(dim)))
    if not begin and stride == 1 and (end is None or end >= OPEN_END):
        return dim
    if isinstance(dim, UnknownDim) or stride < 0:
        return UNKNOWN
    length = _symbolic_length(dim, begin or 0, end)
    if not _is_surely_positive_or_zero(length):
        return UNKNOWN
    return floor_divide(add(length, stride - 1), stride)


def _symbolic_length(dim: Dim, begin: int, end: int | None) -> Dim:
    """The size of a slice of stride 1 of a symbolic axis."""
    open_end = end is None or end >= OPEN_END
    if begin >= 0 and open_end:
        return subtract(dim, begin)
    if begin >= 0 and end is not None and end < 0:
        return subtract(add(dim, end), begin)
    if begin == -1:  # a run checks that there is one: `relay_tune.op.window_fit`
        return 1 if end is None or open_end else UNKNOWN
    return UNKNOWN


def _is_surely_positive_or_zero(dim: Dim) -> bool:
    """Whether a sum of positive multiples of sizes is enough for what is taken off."""
    if not isinstance(dim, Polynomial):
        return not isinstance(dim, int) or dim >= 0
    terms = dict(dim.terms)
    least = terms.pop((), 0)
    for product, factor in terms.items():
        if factor < 0:
            return False
        if all(isinstance(atom, Symbol) for atom in product):  # n // 2 may be 0
            least += factor
    return least >= 0
