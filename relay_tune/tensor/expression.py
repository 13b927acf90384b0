"""Scalar expressions: what one element of a tensor is.

    value ::= axis | literal | tensor[value, ...] | unary(value) | binary(value, value)
            | select(value, value, value) | cast(value) | word(value, ..)
            | reduce(operation, axes, value)

An axis is an integer variable that runs over 0 .. extent-1. Indices have dtype int64. `Reduce` only
stands at the root of a tensor's body. Nodes are compared by identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay_tune.machine.pattern import WORD_PATTERNS
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.size import is_integer, is_symbolic, surely_less

INDEX = "int64"

UNARY_OPERATIONS = frozenset(
    "neg abs exp log sqrt rsqrt tanh erf sigmoid sin cos tan asin acos atan sinh cosh asinh acosh "
    "atanh floor ceil round trunc sign not isnan isinf exp2 log2 log1p expm1 "
    "bitnot".split()
)
"""`round` is half to even; `not` is logical, `bitnot` bitwise; `isnan`/`isinf` give bool."""

BINARY_OPERATIONS = frozenset(
    "add sub mul div floordiv floormod truncdiv truncmod min max fmax pow and or xor shl shr "
    "eq ne lt le gt ge".split()
)
"""`div` is for floats; integer division names its rounding (and then serves floats too). Division
of an integer by zero gives zero. `and`/`or`/`xor` are bitwise on integers, logical on bool; `shr`
is arithmetic if signed; a shift by no bit position moves all bits out. NaN wins in `min` and `max`;
`fmax` is its right side where that is greater and else the left one, so that a NaN on the right is
passed over, as in the reduction of this name: one instruction less for results that a NaN reaches
on another way.
`eq` .. `ge` give bool."""

DOT_PRODUCTS = frozenset(each.name for each in WORD_PATTERNS)
"""Operations on int32, whose bits are several narrow elements (`relay_tune.machine.pattern`)."""

_DOT_PRODUCT_TYPES = {each.name: each.result for each in WORD_PATTERNS}

PRODUCTS = DOT_PRODUCTS | {"mul"}
"""Operations whose results an instruction adds to a sum at once."""

COMPARISONS = frozenset("eq ne lt le gt ge".split())

REDUCTIONS = frozenset("sum prod max fmax min".split())
"""On bool, `max` is any and `min` is all."""

Number = bool | int | float


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Scalar:
    """Base of scalar expressions; `dtype` is the element type of the value."""

    dtype: str = INDEX

    def __add__(self, other: Scalar | Number) -> Scalar:
        return binary("add", self, other)

    def __radd__(self, other: Number) -> Scalar:
        return binary("add", other, self)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return binary("sub", self, other)

    def __rsub__(self, other: Number) -> Scalar:
        return binary("sub", other, self)

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return binary("mul", self, other)

    def __rmul__(self, other: Number) -> Scalar:
        return binary("mul", other, self)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        return binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Scalar:
        return binary("div", other, self)

    def __floordiv__(self, other: Scalar | Number) -> Scalar:
        return binary("floordiv", self, other)

    def __mod__(self, other: Scalar | Number) -> Scalar:
        return binary("floormod", self, other)

    def __neg__(self) -> Scalar:
        return unary("neg", self)


@dataclass(frozen=True, eq=False, slots=True)
class Axis(Scalar):
    """An index variable over 0 .. extent-1."""

    name: str
    extent: int

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class Literal(Scalar):
    """A number."""

    value: Number


@dataclass(frozen=True, eq=False, slots=True)
class Load(Scalar):
    """`tensor[indices]`; the indices must be inside the tensor wherever the value is used."""

    tensor: Tensor
    indices: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Unary(Scalar):
    """One of UNARY_OPERATIONS."""

    operation: str
    operand: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Scalar):
    """One of BINARY_OPERATIONS on operands of one dtype, or of DOT_PRODUCTS on words of int32."""

    operation: str
    left: Scalar
    right: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Select(Scalar):
    """`if_true` where `condition`, else `if_false`.

    Loads of the branch that is not taken are not performed, so they may be out of bounds.
    """

    condition: Scalar
    if_true: Scalar
    if_false: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Cast(Scalar):
    """The operand converted to `dtype`: floats to integers truncate, anything to bool is != 0."""

    operand: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Reinterpret(Scalar):
    """The stored bits of the operand read as `dtype`, which is as wide."""

    operand: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Word(Scalar):
    """The word of int32 that narrow integers of one type are together, the first one lowest."""

    elements: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Scalar):
    """The reduction of `body` over `axes` with one of REDUCTIONS.

    `bits` with a sign hold the value, of a sum of integers; 0 where that is not known.
    """

    operation: str
    axes: tuple[Axis, ...]
    body: Scalar
    bits: int = 0


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Tensor:
    """Base of tensors: a name for people, a static shape (elements), an element type."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __getitem__(self, indices: Scalar | int | tuple[Scalar | int, ...]) -> Load:
        """The element at `indices`, one for each dimension."""
        listed = indices if isinstance(indices, tuple) else (indices,)
        return Load(self, tuple(index_value(index) for index in listed), dtype=self.dtype)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


def index_value(index: Scalar | int) -> Scalar:
    """An index as an expression."""
    if isinstance(index, Scalar):
        return index
    return literal(index if is_symbolic(index) else int(index), INDEX)


def literal(value: Number, dtype: str) -> Literal:
    """A number of an element type."""
    return Literal(value, dtype=dtype)


def unary(operation: str, operand: Scalar) -> Scalar:
    """One of UNARY_OPERATIONS."""
    is_predicate = operation in ("isnan", "isinf", "not")
    return Unary(operation, operand, dtype="bool" if is_predicate else operand.dtype)


def binary(operation: str, left: Scalar | Number, right: Scalar | Number) -> Scalar:
    """One of BINARY_OPERATIONS or DOT_PRODUCTS; a number takes the dtype of the other operand.

    Index arithmetic with neutral literals (`i + 0`, `i * 1`, `0 * i`) is simplified.
    """
    if not isinstance(left, Scalar):
        assert isinstance(right, Scalar)
        left = literal(left, right.dtype)
    if not isinstance(right, Scalar):
        right = literal(right, left.dtype)
    if left.dtype == INDEX:
        simple = _simplify_index(operation, left, right)
        if simple is not None:
            return simple
    return Binary(operation, left, right, dtype=_binary_dtype(operation, left.dtype))


def _binary_dtype(operation: str, operands: str) -> str:
    if operation in COMPARISONS:
        return "bool"
    return _DOT_PRODUCT_TYPES.get(operation, operands)


def select(condition: Scalar, if_true: Scalar, if_false: Scalar | Number) -> Scalar:
    """`if_true` where `condition`, else `if_false`."""
    if not isinstance(if_false, Scalar):
        if_false = literal(if_false, if_true.dtype)
    return Select(condition, if_true, if_false, dtype=if_true.dtype)


def cast(operand: Scalar, dtype: str) -> Scalar:
    """The operand converted to `dtype`; itself if it has that dtype."""
    return operand if operand.dtype == dtype else Cast(operand, dtype=dtype)


def reinterpret(operand: Scalar, dtype: str) -> Scalar:
    """The bits of the operand read as another type of the same width; itself if it is that type."""
    return operand if operand.dtype == dtype else Reinterpret(operand, dtype=dtype)


def word(elements: Sequence[Scalar]) -> Scalar:
    """Narrow integers of one type, 32 bits together, as a word."""
    return Word(tuple(elements), dtype="int32")


def reduce(operation: str, axes: Sequence[Axis], body: Scalar, bits: int = 0) -> Scalar:
    """The reduction of `body` over `axes`, of so many `bits`; without axes the body itself."""
    return Reduce(operation, tuple(axes), body, bits, dtype=body.dtype) if axes else body


def neutral_element(operation: str, dtype: str) -> Number:
    """The value that changes nothing in a reduction."""
    if operation in ("sum", "prod"):
        return 0 if operation == "sum" else 1
    if dtype == "bool":
        return operation == "min"
    is_maximum = operation in ("max", "fmax")
    if dtype.startswith(("float", "bfloat")):
        return -math.inf if is_maximum else math.inf
    bits = int(dtype.lstrip("uint"))
    if dtype.startswith("u"):
        return 0 if is_maximum else (1 << bits) - 1
    return -(1 << (bits - 1)) if is_maximum else (1 << (bits - 1)) - 1


_PLAIN = frozenset(("add", "sub", "mul"))
"""Operations that numbers above 1 do not simplify."""


def _simplify_index(operation: str, left: Scalar, right: Scalar) -> Scalar | None:
    """`left operation right` in simpler form, or None."""
    a = left.value if isinstance(left, Literal) else None
    b = right.value if isinstance(right, Literal) else None
    if a is None and (b is None or (b.__class__ is int and b > 1 and operation in _PLAIN)):
        return None
    match operation:
        case "add" if a is not None and b is not None:
            return literal(a + b, INDEX)
        case "mul" if a is not None and b is not None:
            return literal(a * b, INDEX)
        case "sub" if a is not None and b is not None:
            return literal(a - b, INDEX)
        case "add" if a == 0:
            return right
        case "add" | "sub" if b == 0:
            return left
        case "mul" if a == 1:
            return right
        case "mul" | "floordiv" if b == 1:
            return left
        case "mul" if a == 0 or b == 0:
            return literal(0, INDEX)
        case "floormod" if b == 1:
            return literal(0, INDEX)
        case "floordiv" | "floormod" if b == 0:
            return literal(0, INDEX)
        case "floordiv" if isinstance(left, Axis) and is_integer(b) and _is_within(left, b):
            return literal(0, INDEX)
        case "floormod" if isinstance(left, Axis) and is_integer(b) and _is_within(left, b):
            return left
    return None


def _is_within(axis: Axis, size: int) -> bool:
    return surely_less(axis.extent, size + 1)
