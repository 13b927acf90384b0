"""Affine forms: sums of integer multiples of variables and a constant.

The variables are axes in schedules and machine values in code generation; this file needs to know
only that they are hashable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Axis, Binary, Literal, Scalar
from relay_tune.tensor.size import is_integer, is_multiple, is_symbolic, surely_less

Variable = Hashable

AFFINE_OPERATIONS = frozenset(("add", "sub", "mul"))
"""The operations that combine affine forms to another one."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(coefficient * variable)`; no coefficient is zero."""

    terms: Mapping[Variable, int]
    constant: int = 0

    def __add__(self, other: Affine) -> Affine:
        if not other.terms:
            return self.shift(other.constant)
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            total = terms.get(variable, 0) + coefficient
            if total:
                terms[variable] = total
            else:
                terms.pop(variable, None)
        return Affine(terms, self.constant + other.constant)

    def scale(self, factor: int) -> Affine:
        """This form times an integer."""
        if factor == 0:
            return ZERO
        if factor == 1:
            return self
        return Affine({v: c * factor for v, c in self.terms.items()}, self.constant * factor)

    def shift(self, amount: int) -> Affine:
        """This form plus an integer."""
        return Affine(self.terms, self.constant + amount) if amount else self

    def coefficient(self, variable: Variable) -> int:
        """The factor of a variable; 0 if it does not occur."""
        return self.terms.get(variable, 0)

    def without(self, variable: Variable) -> Affine:
        """This form with a variable set to zero."""
        if variable not in self.terms:
            return self
        return Affine({v: c for v, c in self.terms.items() if v != variable}, self.constant)

    def substituted(self, forms: Mapping[Variable, Affine]) -> Affine | None:
        """This form with a form in place of each variable; None if one of them has none."""
        terms: dict[Variable, int] = {}
        total, cancelled = self.constant, False
        for variable, coefficient in self.terms.items():
            form = forms.get(variable)
            if form is None:
                return None
            if form.constant:
                total += coefficient * form.constant
            for inner, factor in form.terms.items():
                term, known = coefficient * factor, terms.get(inner)
                terms[inner] = term if known is None else known + term
                cancelled = cancelled or not terms[inner]
        return Affine({v: c for v, c in terms.items() if c} if cancelled else terms, total)

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return not self.terms

    def bounds(self, extent: Callable[[Variable], tuple[int, int]]) -> tuple[int, int]:
        """The least and greatest value, where `extent(variable)` are the variable's own."""
        low = high = self.constant
        for variable, coefficient in self.terms.items():
            least, greatest = extent(variable)
            ends = (coefficient * least, coefficient * greatest)
            first, last = ends if coefficient >= 0 else ends[::-1]
            low += first
            high += last
        return low, high


ZERO = Affine({})


def constant(value: int) -> Affine:
    """A form without variables."""
    return Affine({}, value)


def variable(name: Variable) -> Affine:
    """A variable by itself."""
    return Affine({name: 1})


def combined(operation: str, left: Affine, right: Affine) -> Affine | None:
    """The form of `left operation right`, or None if it is not affine."""
    match operation:
        case "add":
            return left + right
        case "sub":
            return left + right.scale(-1)
        case "mul" if left.is_constant:
            return right.scale(left.constant)
        case "mul" if right.is_constant:
            return left.scale(right.constant)
    return None


def axis_affine(index: Scalar) -> Affine | None:
    """An index expression as an affine form over its axes, or None if it is not one."""
    terms: dict[Variable, int] = {}
    total = _gathered(index, 1, terms)
    return None if total is None else Affine(_occurring(terms), total)


def _occurring(terms: dict[Variable, int]) -> dict[Variable, int]:
    return terms if all(terms.values()) else {v: c for v, c in terms.items() if c}


def _gathered(index: Scalar, factor: int, terms: dict[Variable, int]) -> int | None:
    """Add an index times a factor to terms; its constant part, or None if it is not affine.

    Sums of many terms are read once, without a form for each part of them.
    """
    if isinstance(index, Literal):
        return factor * (index.value if is_integer(index.value) else int(index.value))
    if isinstance(index, Axis):
        terms[index] = terms.get(index, 0) + factor
        return 0
    if not isinstance(index, Binary) or index.operation not in AFFINE_OPERATIONS:
        return None
    if index.operation == "mul":
        return _gathered_product(index, factor, terms)
    first = _gathered(index.left, factor, terms)
    if first is None:
        return None
    second = _gathered(index.right, factor if index.operation == "add" else -factor, terms)
    return None if second is None else first + second


def _gathered_product(product: Binary, factor: int, terms: dict[Variable, int]) -> int | None:
    left, right = product.left, product.right
    if isinstance(left, Literal):
        left, right = right, left
    if isinstance(right, Literal) and is_integer(right.value):
        return _gathered(left, factor * right.value, terms)
    first = axis_affine(left)
    second = None if first is None else axis_affine(right)
    form = None if first is None or second is None else combined("mul", first, second)
    if form is None:
        return None
    for variable, coefficient in form.terms.items():
        terms[variable] = terms.get(variable, 0) + factor * coefficient
    return factor * form.constant


def flat_form(shape: Sequence[int], indices: Sequence[Scalar]) -> Affine | None:
    """The row-major offset of indices in a shape over their axes, or None if it is not affine."""
    terms: dict[Variable, int] = {}
    total, stride = 0, 1
    for index, extent in zip(reversed(indices), reversed(shape), strict=True):
        part = _gathered(index, stride, terms)
        if part is None:
            return None
        total, stride = total + part, stride * extent
    return Affine(_occurring(terms), total)


def parted_form(shape: Sequence[int], indices: Sequence[Scalar]) -> Affine:
    """The row-major offset of indices in a shape over their axes and over what is not affine.

    x[i // n * 4 + j]  of 8 columns:      32 (i // n) + 8 j
    """
    terms: dict[Variable, int] = {}
    total, stride = 0, 1
    for index, extent in zip(reversed(indices), reversed(shape), strict=True):
        total, stride = total + _parted(index, stride, terms), stride * extent
    return Affine(_occurring(terms), total)


def _parted(index: Scalar, factor: int, terms: dict[Variable, int]) -> int:
    """Add an index times a factor to terms, some of which are no axes; its constant part."""
    if isinstance(index, Literal):
        return factor * (index.value if is_integer(index.value) else int(index.value))
    if isinstance(index, Binary) and index.operation in ("add", "sub"):
        first = _parted(index.left, factor, terms)
        return first + _parted(index.right, factor if index.operation == "add" else -factor, terms)
    if isinstance(index, Binary) and index.operation == "mul":
        left, right = index.left, index.right
        if isinstance(left, Literal):
            left, right = right, left
        if isinstance(right, Literal) and is_integer(right.value):
            return _parted(left, factor * right.value, terms)
    terms[index] = terms.get(index, 0) + factor
    return 0


def split_quotient(
    form: Affine, divisor: int, extent: Callable[[Variable], tuple[int, int]]
) -> tuple[Affine, Affine] | None:
    """`form` as divisor * quotient + remainder with 0 <= remainder < divisor, or None.

    Exact when the terms that the divisor does not divide stay within one period.
    """
    quotient: dict[Variable, int] = {}
    rest: dict[Variable, int] = {}
    for name, coefficient in form.terms.items():
        if is_multiple(coefficient, divisor):
            quotient[name] = coefficient // divisor
        else:
            rest[name] = coefficient
    whole, left_over = 0, form.constant
    if is_multiple(left_over, divisor) or not is_symbolic(divisor):
        whole, left_over = divmod(left_over, divisor)
    remainder = Affine(rest, left_over)
    low, high = remainder.bounds(extent)
    if not surely_less(-1, low) or not surely_less(high, divisor):
        return None
    return Affine(quotient, whole), remainder
