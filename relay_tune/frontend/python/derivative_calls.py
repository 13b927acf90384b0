"""`rt.grad` and its relatives in Python programs: functions that ask for a derivative.

    @rt.relay
    def slope(x: "Tensor[(3), float32]"):
        return rt.grad(energy)(x)[0]

means what rt.grad(energy) computes outside of programs: `grad(@energy)(%x).1.0`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, TupleGetItem
from relay_tune.ir.operator import find_operator
from relay_tune.quick_dataclass import dataclass

_FORM = "_relay_derivative"

Decorated = TypeVar("Decorated", bound=Callable[..., object])


@dataclass(frozen=True)
class DerivativeForm:
    """What a function of Python on programs is in programs.

    Attributes:
        operators: applied to a function one after the other, each with the same `wrt`.
        fields: the way to the result in the tuple that the function which comes out returns.
    """

    operators: tuple[str, ...]
    fields: tuple[int, ...]


@dataclass(frozen=True)
class AskedDerivative:
    """The derivative of a function, which is to be called.

    Attributes:
        function: computes it.
        fields: the way to it in the tuple that the function returns.
    """

    function: Expr
    fields: tuple[int, ...]

    def called(self, arguments: Sequence[Expr]) -> Expr:
        """The derivative at some arguments."""
        result: Expr = Call(self.function, tuple(arguments))
        for index in self.fields:
            result = TupleGetItem(result, index)
        return result


def in_programs(*operators: str, fields: tuple[int, ...] = ()) -> Callable[[Decorated], Decorated]:
    """A decorator that says what a function on programs is in programs."""

    def decorate(function: Decorated) -> Decorated:
        setattr(function, _FORM, DerivativeForm(operators, fields))
        return function

    return decorate


def derivative_form(callee: object) -> DerivativeForm | None:
    """What a function of Python is in programs, if it is one on programs."""
    form = getattr(callee, _FORM, None)
    return form if isinstance(form, DerivativeForm) else None


def asked_derivative(
    form: DerivativeForm, function: Expr, names: Sequence[str], wrt: object
) -> AskedDerivative:
    """The derivative with regard to chosen parameters, by index or by one of `names`; None: all.

    Raises InputError for a parameter that there is not.
    """
    indices = None
    if wrt is not None:
        chosen = wrt if isinstance(wrt, tuple | list) else (wrt,)
        indices = tuple(_index(each, names) for each in chosen)
    for name in form.operators:
        operator = find_operator(name)
        assert operator is not None
        function = operator(function, wrt=indices)
    return AskedDerivative(function, form.fields)


def _index(parameter: object, names: Sequence[str]) -> int:
    if isinstance(parameter, int) and not isinstance(parameter, bool):
        return parameter
    if isinstance(parameter, str) and parameter in names:
        return list(names).index(parameter)
    remedy = "Count the parameters of an inner function from 0."
    raise InputError(
        f"The function has no parameter {parameter!r}.",
        remedy=did_you_mean(str(parameter), names, remedy) if names else remedy,
    )
