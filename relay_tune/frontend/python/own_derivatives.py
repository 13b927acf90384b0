"""Python functions whose derivatives their authors say, or have computed from less memory.

def forward(x):
    return np.round(x), ()

def backward(left, d):
    return d

@rt.custom_vjp(forward, backward)
@rt.relay
def rounded(x: "Tensor[(3), float32]"):
    return np.round(x)

@rt.checkpoint
@rt.relay
def block(x: "Tensor[(3), float32]"):
    return np.tanh(np.sin(x))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relay_tune.arguments import function_argument, instance_of
from relay_tune.frontend.python.program import Wrapping
from relay_tune.frontend.python.relay_function import RelayFunction

Decorator = Callable[[RelayFunction], RelayFunction]


def custom_vjp(forward: Callable[..., Any], backward: Callable[..., Any]) -> Decorator:
    """A decorator that gives a function under @relay a rule for adjoints.

    Args:
        forward: takes what the function takes, and returns (its result, what backward needs).
        backward: takes what forward left and the adjoint of the result, and returns the adjoints
            of the parameters that hold floats: a tuple, or the only one.

    Both are functions of Python or under @relay, and need no types. Forward mode follows from the
    rule, which is taken to be linear in the adjoint; `custom_jvp` has one of its own.
    """
    return _decorator("custom_vjp", forward, backward)


def custom_jvp(tangent: Callable[..., Any]) -> Decorator:
    """A decorator that gives a function under @relay a rule for tangents.

    Args:
        tangent: takes what the function takes and then the tangents of the parameters that hold
            floats, and returns (the function's result, its tangent).

    Reverse mode follows from the rule, which is taken to be linear in the tangents, where there is
    no `custom_vjp` above or below.
    """
    return _decorator("custom_jvp", tangent)


def checkpoint(function: RelayFunction) -> RelayFunction:
    """A function under @relay of which derivatives keep the arguments, and compute the rest again.

    What it computes in between is not in memory while the rest of the program runs. It is called
    like the function itself, once more for each call whose result has an adjoint.
    """
    return _decorator("checkpoint")(function)


def _decorator(operator: str, *functions: Callable[..., Any]) -> Decorator:
    plain = tuple(_plain(operator, each) for each in functions)

    def decorate(function: RelayFunction) -> RelayFunction:
        instance_of(
            RelayFunction, function, f"What {operator} decorates", "Write @rt.relay below it."
        )
        wrappings = (*function.wrappings, Wrapping(operator, plain))
        return replace(function, wrappings=wrappings)

    return decorate


def _plain(operator: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(function, RelayFunction):
        return function.function
    function_argument(function, f"A rule of {operator}", "Give functions of Python.")
    return function
