"""Modules: the functions and algebraic data types of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from relay_tune.arguments import did_you_mean
from relay_tune.copies import Immutable
from relay_tune.errors import InputError
from relay_tune.ir.expr import NO_ATTRIBUTES, AttributeValue, Function
from relay_tune.ir.module_summary import module_html, module_summary
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.printer.comments import Annotate
from relay_tune.ir.type_data import TypeData
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, repr=False)
class Module(Immutable):
    """A program: global functions and data types by name.

    `source` holds the texts that spans point into, by source name.
    """

    functions: Mapping[str, Function]
    types: Mapping[str, TypeData] = field(default_factory=dict)
    attributes: Mapping[str, AttributeValue] = field(default_factory=lambda: NO_ATTRIBUTES)
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """InputError unless `functions` maps names to functions."""
        if not isinstance(self.functions, Mapping):
            raise _no_functions(self.functions)
        for function in self.functions.values():
            if not isinstance(function, Function):
                raise _no_functions(function)

    def __getitem__(self, name: str) -> Function:
        """The function `name`; raises InputError if there is none."""
        function = self.functions.get(name)
        if function is None:
            known = ", ".join(f"@{known}" for known in self.functions) or "none"
            raise InputError(
                f"The module has no function @{name}.",
                notes=(f"It has: {known}.",),
                remedy=did_you_mean(
                    name, self.functions, "Define one of this name, or ask for one of these."
                ),
            )
        return function

    @property
    def main(self) -> Function:
        """The entry point."""
        return self["main"]

    def astext(
        self,
        show_types: bool = False,
        show_weights: bool = True,
        annotate: Annotate | None = None,
    ) -> str:
        """This program as Relay text; see `relay_tune.ir.printer.astext.astext`."""
        return astext(self, show_types, show_weights, annotate)

    def __repr__(self) -> str:
        """A summary in one line; `astext` has all of it."""
        return f"<Module {module_summary(self.functions)}>"

    def _repr_html_(self) -> str:
        """The line and the text, for notebooks."""
        return module_html(self.functions, self.astext(show_weights=False))

    def with_function(self, name: str, function: Function) -> Module:
        """This module with `function` added or replaced under `name`."""
        return replace(self, functions={**self.functions, name: function})

    @staticmethod
    def from_function(function: Function) -> Module:
        """A module whose `main` is `function`."""
        return Module({"main": function})


def _no_functions(found: object) -> InputError:
    return InputError(
        f"A module holds functions by name, but a value of type {type(found).__name__} was given.",
        remedy="Write Module({'main': Function([x], body)}), or Module.from_function(function).",
    )


def require_module(value: object) -> Module:
    """`value`, which must be a module; InputError for anything else."""
    if isinstance(value, Module):
        return value
    remedy = "Read a model with from_onnx(path) or parse(text) first."
    if hasattr(type(value), "module"):  # a decorated function, or a model of them
        name = getattr(value, "name", "function")
        remedy = f"Give its module: {name}.module."
    raise InputError(
        f"A Module is needed here, but a value of type {type(value).__name__} was given.",
        remedy=remedy,
    )
