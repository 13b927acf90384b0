"""Sums of quotients and remainders of one index, put together again.

before: (k % 12) * 512 + (k // 12 % 12) * 6144 + (k // 144) * 73728
after:  k * 512

An image that is read as rows of a product has such indices wherever its rows lie one behind the
other. The sum is affine again, so that its tiles can run along any axis.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.tensor.expression import INDEX, Axis, Binary, Literal, Scalar, literal
from relay_tune.tensor.size import is_multiple, is_symbolic

Term = tuple[int, Scalar]
"""A factor and what it is multiplied with."""


def rejoined(total: Binary) -> Scalar:
    """A sum of indices with a (x mod m) + a m (x div m) written as a x; itself without such terms.

    x div (m n) counts as (x div m) div n. An axis by itself stays in parts: those who put it there
    split or fuse its loop (`relay_tune.tensor.index.can_fuse`), if it has whole parts.
    """
    if total.operation != "add" or total.dtype != INDEX:
        return total
    terms = list(_terms(total, 1))
    changed = False
    while (found := _pair(terms)) is not None:
        remainder, quotient, joined = found
        terms = [term for term in terms if term is not remainder and term is not quotient]
        terms += _terms(joined[1], joined[0])
        changed = True
    return _sum(terms) if changed else total


def _terms(node: Scalar, factor: int) -> Iterator[Term]:
    if isinstance(node, Binary) and node.operation == "add":
        yield from _terms(node.left, factor)
        yield from _terms(node.right, factor)
        return
    if isinstance(node, Binary) and node.operation == "mul":
        known = _number(node.right)
        if known is not None:
            yield from _terms(node.left, factor * known)
            return
    yield factor, node


def _pair(terms: list[Term]) -> tuple[Term, Term, Term] | None:
    """A remainder and a quotient of one index, and what they are together."""
    for remainder in terms:
        factor, node = remainder
        if not isinstance(node, Binary) or node.operation != "floormod":
            continue
        divisor = _number(node.right)
        if divisor is None or (isinstance(node.left, Axis) and _may_be_split(node.left, divisor)):
            continue
        for quotient in terms:
            if quotient[0] == factor * divisor and _is_quotient(quotient[1], node.left, divisor):
                return remainder, quotient, (factor, node.left)
    return None


def _may_be_split(axis: Axis, divisor: int) -> bool:
    """Whether a loop may have whole parts of so many; an open extent rules that out at times."""
    return not is_symbolic(axis.extent) or is_multiple(axis.extent, divisor)


def _is_quotient(node: Scalar, index: Scalar, divisor: int) -> bool:
    """Whether a node is index div divisor."""
    if not isinstance(node, Binary) or node.operation != "floordiv":
        return False
    if node.left == index:
        return _number(node.right) == divisor
    if not isinstance(index, Binary) or index.operation != "floordiv" or node.left != index.left:
        return False
    inner = _number(index.right)
    return inner is not None and inner > 0 and _number(node.right) == inner * divisor


def _number(node: Scalar) -> int | None:
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def _sum(terms: list[Term]) -> Scalar:
    total: Scalar | None = None
    for factor, node in terms:
        term = node if factor == 1 else node * factor
        total = term if total is None else total + term
    return literal(0, INDEX) if total is None else total
