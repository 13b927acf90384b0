"""`@relay`: Python functions as programs.

    @rt.relay
    def power(x: "Tensor[(4), float32]", n: int):
        result = np.ones(4, "float32")
        while n > 0:
            result, n = result * x, n - 1
        return result

    rt.interpret(power.module, x, 3)

The function is not run: its source is read. docs/python.md says what may stand in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

from relay_tune.arguments import function_argument
from relay_tune.errors import InputError
from relay_tune.frontend.python.deferred import resolve
from relay_tune.frontend.python.environment import Environment
from relay_tune.frontend.python.program import PythonFunction, TranslatedProgram
from relay_tune.frontend.python.scope import NameScope, Static
from relay_tune.frontend.python.source import PythonSource, source_of
from relay_tune.frontend.python.statements import Statements
from relay_tune.frontend.python.types import TypeReader
from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.std import prelude
from relay_tune.std.select import with_definitions
from relay_tune.typing.infer import infer_types


class RelayFunction(PythonFunction):
    """A function that was decorated with `@relay`."""

    def __repr__(self) -> str:
        return f"<relay function {self.name}>"

    @cached_property
    def module(self) -> Module:
        """The typed program whose `main` is this function.

        It has all functions that this one mentions. Raises ParseError or TypeInferenceError with
        the location in the Python file.
        """
        return translate(self)

    def __get__(self, instance: object, owner: type | None = None) -> RelayFunction:
        """As a method: the first parameter stands for the instance."""
        return self if instance is None else replace(self, receiver=instance)

    def __call__(self, *arguments: object, **named: object) -> object:
        """Refuses: the program does not run inside of Python."""
        raise InputError(
            f"{self.name} is a program of Relay and cannot be called as a Python function.",
            remedy=f"Run it by rt.interpret({self.name}.module, ..) or "
            f"rt.build({self.name}.module)(..).",
        )


@overload
def relay(function: Callable[..., Any]) -> RelayFunction: ...
@overload
def relay(*, base: Module | None = None) -> Callable[[Callable[..., Any]], RelayFunction]: ...
def relay(
    function: Callable[..., Any] | None = None, *, base: Module | None = None
) -> RelayFunction | Callable[[Callable[..., Any]], RelayFunction]:
    """A decorator that makes a Python function a program.

    Args:
        function: the function.
        base: the data types and functions that it may name; the prelude if nothing is given.
    """
    library = prelude() if base is None else base
    if function is not None:
        function_argument(function, "What relay decorates", "Write @relay above a function.")
    if function is not None:
        return RelayFunction(function, library)
    return lambda decorated: RelayFunction(decorated, library)


class Translator(Statements):
    """Translates one function; `types` reads its annotations."""

    def __init__(
        self, function: PythonFunction, source: PythonSource, program: TranslatedProgram
    ) -> None:
        environment = Environment(function.function)
        super().__init__(source, environment, program, function.base)
        self.types = TypeReader(source, environment, function.base)

    def translate(self, function: PythonFunction) -> Function:
        """The function as an expression without free variables."""
        node, scope = self.source.tree, NameScope()
        params = list(node.args.args)
        if function.receiver is not None:
            scope = scope.bind(params.pop(0).arg, Static(function.receiver))
        annotations = function.function.__annotations__
        return self.function(node, params, scope, annotations, function.defaults)


def translate(entry: PythonFunction) -> Module:
    """The typed module whose `main` is `entry`, with all functions that it mentions.

    Raises ParseError or TypeInferenceError with the location in the Python file.
    """
    program = TranslatedProgram(reserved=frozenset(entry.base.functions))
    program.mention(entry, "main")
    while program.pending:
        name, function = program.pending.pop()
        program.functions[name] = wrapped(function, program)
    functions = {"main": program.functions.pop("main"), **program.functions}
    module = with_definitions(Module(functions, sources=program.sources), entry.base)
    typed = resolve(infer_types(module))
    return infer_types(with_definitions(typed, entry.base))


def wrapped(function: PythonFunction, program: TranslatedProgram) -> Function:
    """A function of Python as an expression without free variables.

    Where operators make another one of it, that one:

        fn (%x: float32) { custom_vjp(fn (%x: float32) { .. }, fn .., fn ..)(%x) }
    """
    inner, source = _translated(function, program)
    if not function.wrappings:
        return inner
    span = source.span(source.tree)
    value: Expr = inner
    for wrapping in function.wrappings:
        given = (PythonFunction(each, function.base) for each in wrapping.functions)
        others = (_translated(each, program)[0] for each in given)
        operator = find_operator(wrapping.operator)
        assert operator is not None
        value = replace(operator(value, *others), span=span)
    params = tuple(Var(param.name, param.annotation) for param in inner.params)
    return Function(params, Call(value, params, span=span), span=span)


def _translated(
    function: PythonFunction, program: TranslatedProgram
) -> tuple[Function, PythonSource]:
    source = source_of(function.function)
    program.sources[source.file] = source.shown
    try:
        return Translator(function, source, program).translate(function), source
    except RecursionError as error:
        raise source.error(
            source.tree,
            f"{function.name} has too many branches that leave it, one after the other.",
            remedy="Split the function into several.",
        ) from error
