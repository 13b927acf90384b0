"""From Python functions to a module."""

from __future__ import annotations

from relay_tune.frontend.python.deferred import resolve
from relay_tune.frontend.python.environment import Environment
from relay_tune.frontend.python.program import PythonFunction, TranslatedProgram
from relay_tune.frontend.python.scope import NameScope, Static
from relay_tune.frontend.python.source import PythonSource, source_of
from relay_tune.frontend.python.statements import Statements
from relay_tune.frontend.python.types import TypeReader
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.std.select import with_definitions
from relay_tune.typing.infer import infer_types


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

    Raises ParseError or TypeInferenceError with the place in the Python file.
    """
    program = TranslatedProgram(reserved=frozenset(entry.base.functions))
    program.mention(entry, "main")
    while program.pending:
        name, function = program.pending.pop()
        source = source_of(function.function)
        program.sources[source.file] = source.shown
        try:
            program.functions[name] = Translator(function, source, program).translate(function)
        except RecursionError as error:
            raise source.error(
                source.tree,
                f"{function.name} has too many branches that leave it, one after the other.",
                remedy="Split the function into several.",
            ) from error
    functions = {"main": program.functions.pop("main"), **program.functions}
    module = with_definitions(Module(functions, sources=program.sources), entry.base)
    typed = resolve(infer_types(module))
    return infer_types(with_definitions(typed, entry.base))
