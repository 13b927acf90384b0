"""`rt.interpret`: the interpreter, behind the one pass that gives meaning to what it has none for.

Calls of grad, vjp and jvp have no value themselves; they are made functions of the program first.
A program without them is interpreted as it is.
"""

from __future__ import annotations

from relay_tune.ir.module import Module, require_module
from relay_tune.runtime.interpreter.interpret import OnValue
from relay_tune.runtime.interpreter.interpret import interpret as interpret_plainly
from relay_tune.runtime.interpreter.values import Value
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.transform.gradient.requests import has_requests
from relay_tune.typing.infer import infer_types


def interpret(
    module: Module,
    *inputs: object,
    function: str = "main",
    on_value: OnValue | None = None,
    **named: object,
) -> Value:
    """The value of `function` of `module` at the given inputs (arrays, numbers, tuples of them).

    Args:
        module: the program, with types or without.
        inputs, named: the inputs, by position, by name, or as one dict from names.
        function: the function that is called.
        on_value: for debugging, is called with each expression that is no constant or name, and its
            value, and with each variable of a let or a pattern; a call in tail position is told of
            by what it leads to. Derivatives are expressions of what `differentiate` makes.

    Raises:
        InputError: the inputs do not fit.
        RelayError: evaluation cannot go on (no clause matches, a value of the wrong kind, recursion
            that does not end), or something has no derivative, with the location in the program.
    """
    if has_requests(require_module(module)):
        entry = module.with_function("main", module[function])
        module, function = Differentiate()(infer_types(entry)), "main"
    return interpret_plainly(module, *inputs, function=function, on_value=on_value, **named)
