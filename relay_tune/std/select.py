"""Just those definitions of the prelude that a program needs.

>>> sorted(prelude("length").functions)
['foldl', 'length']
>>> list(prelude("length").types)
['List']
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files

import relay_tune.op  # noqa: F401  # registers the operators that the texts use
from relay_tune.arguments import did_you_mean, instance_of
from relay_tune.errors import InputError
from relay_tune.ir.expr import Constructor
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.parser.parse import parse
from relay_tune.std.uses import Uses, reachable, uses_of_module


def prelude(*names: str) -> Module:
    """The functions and data types of the prelude called `names`, with all that they use.

    Without names: the whole prelude. A text takes them in by `parse(text, base=prelude("map"))`.
    Raises InputError for a name that the prelude does not have.
    """
    whole = library()
    if not names:
        return whole
    for name in names:
        instance_of(str, name, "The name of a definition", "Write it as prelude('map', 'List').")
        if name not in whole.functions and name not in whole.types:
            raise _unknown(name, whole)
    return _selection(whole, Uses(names, names))


def with_prelude(module: Module) -> Module:
    """`module` with the definitions of the prelude that it mentions and does not have itself."""
    return with_definitions(require_module(module), library())


def with_definitions(module: Module, source: Module) -> Module:
    """`module` with those definitions of `source` that it mentions and does not have itself."""
    mentioned = uses_of_module(module)
    missing = Uses(
        tuple(name for name in mentioned.functions if name not in module.functions),
        tuple(name for name in mentioned.types if name not in module.types),
    )
    added = _selection(source, missing)
    return replace(
        module,
        functions={**added.functions, **module.functions},
        types={**added.types, **module.types},
        sources={**added.sources, **module.sources},
    )


def _selection(whole: Module, start: Uses) -> Module:
    """The part of `whole` that `start` needs, in the order of `whole`."""
    needed = reachable(whole, start)
    functions = {n: value for n, value in whole.functions.items() if n in needed.functions}
    types = {name: data for name, data in whole.types.items() if name in needed.types}
    spans = [item.span for item in functions.values()]
    spans += [constructor.span for data in types.values() for constructor in data.constructors]
    used = {span.source for span in spans if span is not None}
    sources = {name: text for name, text in whole.sources.items() if name in used}
    return Module(functions, types, sources=sources)


def _unknown(name: str, whole: Module) -> InputError:
    known = [*whole.types, *whole.functions]
    return InputError(
        f"The prelude has no {name!r}.",
        notes=(f"It has: {', '.join(known)}.",),
        remedy=did_you_mean(name, known, "Use one of these names."),
    )


TEXTS = ("function", "option", "list", "tree", "nat")
"""The names of the texts, each after those that it uses."""


@cache
def library() -> Module:
    """All definitions of the prelude."""
    module = Module({})
    for name in TEXTS:
        text = files("relay_tune.std").joinpath(f"{name}.relay").read_text(encoding="utf-8")
        module = parse(text, f"prelude/{name}.relay", module)
    return module


@cache
def constructor(name: str) -> Constructor:
    """A constructor of the prelude's data types: Cons, Nil, Some, None, .."""
    known = library().types.values()
    return next(each for data in known for each in data.constructors if each.name == name)
