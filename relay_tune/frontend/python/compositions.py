"""Functions of numpy that are several operators of Relay.

np.std(x, axis=1)    sqrt(variance(x, mean(x, axis=1, keepdims=True), axis=1))
np.tril(x)           trilu(x, 0, upper=False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from relay_tune.frontend.python.deferred import MATMUL
from relay_tune.ir.expr import Call, Expr, constant
from relay_tune.op.arithmetic import multiply
from relay_tune.op.math import sqrt
from relay_tune.op.matrix import trilu
from relay_tune.op.reduction import variance
from relay_tune.quick_dataclass import dataclass

Axes = int | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Composition:
    """How a function of numpy, or a method, is written with operators.

    Attributes:
        tensors: how many of its arguments are tensors; they come first.
        options: the names of the other arguments, in their order, which are known beforehand.
        build: the expression, for tensors and options; ValueError where an option does not fit.
    """

    tensors: int
    options: tuple[str, ...]
    build: Callable[..., Expr]


def _variance(data: Expr, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Expr:
    if ddof not in (0, 1):
        raise ValueError(f"ddof is {ddof}, but must be 0 or 1")
    return variance(data, axis=axis, keepdims=keepdims, unbiased=ddof == 1)


def _deviation(data: Expr, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Expr:
    return sqrt(_variance(data, axis, ddof, keepdims))


def _lower(data: Expr, k: int = 0) -> Expr:
    return trilu(data, constant(k, "int64"), upper=False)


def _upper(data: Expr, k: int = 0) -> Expr:
    return trilu(data, constant(k, "int64"), upper=True)


_MOMENT = ("axis", "ddof", "keepdims")

NUMPY: Mapping[str, Composition] = MappingProxyType(
    {
        "var": Composition(1, _MOMENT, _variance),
        "std": Composition(1, _MOMENT, _deviation),
        "tril": Composition(1, ("k",), _lower),
        "triu": Composition(1, ("k",), _upper),
        "square": Composition(1, (), lambda data: multiply(data, data)),
        "matmul": Composition(2, (), lambda left, right: Call(MATMUL, (left, right))),
    }
)
"""By name. There is no dtype and no out, which numpy takes by position behind the axis."""

METHODS: Mapping[str, Composition] = MappingProxyType({n: NUMPY[n] for n in ("var", "std")})
"""Methods of tensors."""
