"""Sizes that are known at run time only, as expressions that compute like integers.

An extent is an int. Where a model leaves a dimension open, it is a `SymbolicSize`, which has the
arithmetic of an int, so that whatever computes with extents (operators, loop nests, flat indices)
computes with it as well:

    n = symbolic_size(Symbol("n"), 64)
    n * 8 + 3        the size 8 * n + 3
    (n * 8) // n     8
    n < n + 1        True, whatever n is
    n < 10           an UndecidedSizeError

Equality is equality for all values of the symbols. A symbolic size carries an example of what may
come: estimates that choose among codes which are right for all sizes ask for it (`nominal`). It is
no int, and whatever needs a number of it, such as range(n), numpy.empty(n), n / 2 or float(n), is
an UndecidedSizeError there. To type checkers both are `int`: an extent has what both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt, prod
from operator import index
from typing import SupportsIndex, TypeGuard, cast

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.dim import Atom, Dim, Polynomial, Quotient, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    add,
    floor_divide,
    multiply,
    positive_part,
    subtract,
    symbol_names,
    symbols,
)
from relay_tune.ir.dim_bounds import dim_bounds
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.dim_quotient import exact_quotient

EXAMPLE_SIZE = 64
"""The hint value of every dynamic size, by which code is chosen."""

EXAMPLE_IMAGES = 8
"""So many images are taken to be there where kernels are formed and layouts are chosen.

Open batches of 1 to 16 images in blocks of rows take, by what they take one layer after the other,
one and two threads, 2 MB of second cache: 112x112x32 to 16 channels .71 to .74, 56x56x144 to 24 .79
to .88, 28x28x192 to 32 .82 to 1.01, 14x14x384 to 64 .86 to .96, 14x14x576 to 96 .87 to .95.
"""

EXAMPLE_ELEMENTS = 1 << 19
"""Elements of an image in the example: with few channels, images are large."""

LARGEST_SIDE = 128
"""Of an image in the example."""

DEEP_CHANNELS = 128
"""From so many channels on, weights are more than a near cache holds, and images are small."""

ROW_ELEMENTS = 28 * DEEP_CHANNELS
"""Elements of a row of an image of that many channels in the example."""

LEAST_SIDE = 14
"""Of an image in the example."""


class UndecidedSizeError(NoNativeCodeError):
    """Code would depend on which of two sizes is larger, and that is open."""


class SymbolicSize:
    """A size given by a dimension with symbols.

    Attributes:
        dim: how it is computed.
        example: what it is in the example.
    """

    __slots__ = ("dim", "example")

    def __init__(self, dim: Symbol | Polynomial, example: int) -> None:
        self.dim = dim
        self.example = example

    def __add__(self, other: int) -> int:
        if type(other) is int and other == 0:
            return cast(int, self)
        return symbolic_size(add(self.dim, dim_of(other)), self.example + nominal(other))

    __radd__ = __add__

    def __sub__(self, other: int) -> int:
        return symbolic_size(subtract(self.dim, dim_of(other)), self.example - nominal(other))

    def __rsub__(self, other: int) -> int:
        return symbolic_size(subtract(dim_of(other), self.dim), nominal(other) - self.example)

    def __mul__(self, other: int) -> int:
        if type(other) is int and other == 1:
            return cast(int, self)
        return symbolic_size(multiply(self.dim, dim_of(other)), self.example * nominal(other))

    __rmul__ = __mul__

    def __neg__(self) -> int:
        return self * -1

    def __floordiv__(self, other: int | SymbolicSize) -> int:
        if not isinstance(other, SymbolicSize):
            return symbolic_size(floor_divide(self.dim, other), self.example // other)
        return symbolic_size(_quotient(self.dim, other.dim), self.example // other.example)

    def __rfloordiv__(self, other: int) -> int:
        if other == 0:
            return 0
        raise UndecidedSizeError(f"The quotient of {other} and the open size {self.dim} is needed.")

    def __mod__(self, other: int | SymbolicSize) -> int:
        return self - (self // other) * other

    def __rmod__(self, other: int) -> int:
        return other - (other // self) * self

    def __divmod__(self, other: int | SymbolicSize) -> tuple[int, int]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return other // self, other % self

    def __abs__(self) -> int:
        return cast(int, self) if self >= 0 else -self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicSize) and other.dim == self.dim

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.dim)

    def __bool__(self) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return _is_less(self, other)

    def __gt__(self, other: object) -> bool:
        return _is_less(other, self)

    def __le__(self, other: object) -> bool:
        return not _is_less(other, self)

    def __ge__(self, other: object) -> bool:
        return not _is_less(self, other)

    def __int__(self) -> int:
        raise self._no_number()

    __index__ = __trunc__ = __round__ = __invert__ = __int__

    def __float__(self) -> float:
        raise self._no_number()

    def __truediv__(self, other: float) -> float:
        raise self._no_number()

    __rtruediv__ = __truediv__

    def __and__(self, other: int) -> int:
        raise self._no_number()

    __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __and__
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__
    __pow__ = __rpow__ = __and__

    def bit_length(self) -> int:
        raise self._no_number()

    def _no_number(self) -> UndecidedSizeError:
        return UndecidedSizeError(f"The open size {self.dim} is needed as a number.")

    def __repr__(self) -> str:
        return str(self.dim)

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format(str(self.dim), specification)


def symbolic_size(dim: Dim, example: int) -> int:
    """The size of a dimension: a plain number where it is one, else symbolic."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, UnknownDim):
        raise UndecidedSizeError("A size that has no name is needed.")
    return cast(int, SymbolicSize(dim, example))


def dim_of(size: object) -> Dim:
    """How a size is computed; UndecidedSizeError for what is no integer."""
    if isinstance(size, SymbolicSize):
        return size.dim
    if not isinstance(size, int):
        raise UndecidedSizeError(f"An open size is combined with {size}, which is no integer.")
    return size


def nominal(size: SupportsIndex) -> int:
    """The size as a plain number: itself, or what it is in the example."""
    return size.example if isinstance(size, SymbolicSize) else index(size)


def largest(size: int) -> int | None:
    """The largest value of a size by the bounds of its symbols; None where it may be any."""
    return dim_bounds(dim_of(size))[1]


def is_symbolic(size: object) -> TypeGuard[int]:
    """Whether a size is known at run time only."""
    return isinstance(size, SymbolicSize)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, or a symbolic size."""
    return isinstance(value, int | SymbolicSize)


def example_side(channels: int) -> int:
    """The hint value of height and width of an image of so many channels.

    16 to 32: 128      48: 104      64: 88      128: 28      256 and more: LEAST_SIDE
    """
    if channels >= DEEP_CHANNELS:
        return max(ROW_ELEMENTS // channels, LEAST_SIDE)
    side = isqrt(EXAMPLE_ELEMENTS // max(channels, 1)) // 8 * 8
    return min(max(side, EXAMPLE_SIZE), LARGEST_SIDE)


def surely_less(left: int, right: int) -> bool:
    """Whether `left < right` whatever the symbols are."""
    if not (is_symbolic(left) or is_symbolic(right)):
        return left < right
    return is_never_negative(subtract(subtract(dim_of(right), dim_of(left)), 1))


def is_multiple(size: int, divisor: int) -> bool:
    """Whether `divisor` divides a size whatever the symbols are."""
    if not is_symbolic(divisor):
        return size % divisor == 0
    return exact_quotient(dim_of(size), dim_of(divisor)) is not None


def ceiling_quotient(size: int, divisor: int) -> int:
    """How many parts of `divisor` a size has, the last of which may be smaller."""
    return (size + (divisor - 1)) // divisor if is_symbolic(size) else -(-size // divisor)


def size_value(dim: Dim, sizes: Mapping[str, int]) -> int:
    """A dimension with numbers or symbolic sizes for its symbols."""
    match dim:
        case int():
            return dim
        case Symbol():
            return sizes[dim.name]
        case Polynomial():
            total = 0
            for product, factor in dim.terms:
                atoms = (_atom_value(atom, sizes) for atom in product)
                total = prod(atoms, start=factor) + total
            return total
        case _:
            raise UndecidedSizeError("A size that has no name is needed.")


def _atom_value(atom: Atom, sizes: Mapping[str, int]) -> int:
    match atom:
        case Symbol():
            return sizes[atom.name]
        case Quotient():
            return size_value(atom.numerator, sizes) // atom.divisor
        case _:
            return positive_size(size_value(atom.value, sizes))


def positive_size(size: int) -> int:
    """`max(size, 0)`, also of a symbolic size."""
    if surely_less(-1, size):
        return size
    return symbolic_size(positive_part(dim_of(size)), max(nominal(size), 0))


def smaller_size(one: int, other: int) -> int:
    """`min(one, other)`, also of symbolic sizes."""
    return one - positive_size(one - other)


def without_constant(size: int) -> int:
    """Symbolic part of a size: `size` less the number that is added to it; 0 of a number.

    The difference of two sizes is a number where this is equal of both.
    """
    dim = dim_of(size)
    if isinstance(dim, int):
        return 0
    if isinstance(dim, Polynomial):
        return size - dict(dim.terms).get((), 0)
    return size


def size_symbols(size: int) -> frozenset[str]:
    """The names of the symbols that a size depends on."""
    return symbol_names(dim_of(size))


def _quotient(dividend: Dim, divisor: Dim) -> Dim:
    """The exact quotient; UndecidedSizeError where there is none for all symbols."""
    quotient = exact_quotient(dividend, divisor)
    if quotient is None:
        raise UndecidedSizeError(
            f"The quotient of the open sizes {dividend} and {divisor} is needed."
        )
    return quotient


def _is_less(left: object, right: object) -> bool:
    if is_never_negative(subtract(subtract(dim_of(right), dim_of(left)), 1)):
        return True
    if is_never_negative(subtract(dim_of(left), dim_of(right))):
        return False
    raise UndecidedSizeError(f"Code would depend on whether {left} < {right}, which is open.")


def example_sizes(sizes: Iterable[int]) -> dict[str, int]:
    """The symbols that symbolic sizes are computed from, as sizes by name."""
    known: dict[str, int] = {}
    for size in sizes:
        dim = dim_of(size)
        if isinstance(dim, Symbol):
            known[dim.name] = size
        for symbol in symbols(dim):
            known.setdefault(symbol.name, symbolic_size(symbol, EXAMPLE_SIZE))
    return known
