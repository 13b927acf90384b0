"""Random well-typed programs that use the whole language.

A program is a pure function of its seed: scalars and small tensors, tuples, let, if, closures,
functions of functions, polymorphism, recursion that counts down or follows data, mutual
recursion, algebraic data types with nested matches, references. Every program ends, has one
answer, and does not depend on how floats are rounded by more than a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import numpy as np
from hypothesis import strategies as st

import relay_tune.op  # noqa: F401  # registers the operators
from relay_tune.ir.expr import Expr, Function, GlobalVar, RefRead, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import FuncType, RefType, Type
from relay_tune.typing.call_graph import used_globals
from relay_tune.typing.infer import infer_types
from tests.properties.programs.generator import Generator
from tests.properties.programs.program_types import (
    INT,
    TENSORS,
    contains_function,
    is_data,
    random_data,
)
from tests.properties.programs.scope import Scope, Signature
from tests.properties.programs.tensors import random_array

LIBRARY = infer_types(parse(Path(__file__).with_name("library.relay").read_text()))
COUNTING = ("repeat", "grow")
COST_OF_LIBRARY = 40

Program = tuple[Module, tuple[np.ndarray, ...]]


def random_program(seed: int, size: int = 100, generator: type[Generator] = Generator) -> Program:
    """A typed module with tensors as parameters of `main`, and arguments for it.

    `main` returns a tensor or a tuple, perhaps nested, of tensors. A program has about `size`
    nodes besides the library of functions over data types, of which it takes what it uses.
    `generator` makes its expressions.
    """
    rng = Random(seed)
    builder = _Builder(rng, size, generator)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        rng.choice(builder.kinds)()
    types = tuple(rng.choice(TENSORS) for _ in range(rng.randint(0, 3)))
    module = builder.module(types)
    return module, tuple(random_array(rng, type_) for type_ in types)


def programs(maximum_size: int = 100) -> st.SearchStrategy[Program]:
    """Random programs and their arguments; smaller ones where a test fails."""
    return st.builds(random_program, st.integers(0, 2**32 - 1), st.integers(1, maximum_size))


class _Builder:
    """Collects the functions of one module."""

    def __init__(self, rng: Random, size: int, generator: type[Generator]) -> None:
        self.rng = rng
        self.size = size
        self.generator = generator
        self.functions: dict[str, Function] = {}
        self.kinds = (self.add_plain, self.add_recursive, self.add_mutual, self.add_general)
        self.signatures = [_library_signature(name) for name in LIBRARY.functions]

    def add_plain(self) -> None:
        """A function that is not recursive; a parameter may be a reference."""
        name, generator = self._name(), self._generator(3)
        params = self._params()
        result = generator.signature_type(Scope())
        variables = tuple(Var(f"p{i}", param) for i, param in enumerate(params))
        scope = self._scope().binding(*zip(variables, params, strict=True))
        body = generator.block(scope, 2, 2, lambda inner: generator.expression(result, inner, 3))
        annotation = result if self.rng.random() < 0.5 else None
        self.functions[name] = Function(variables, body, annotation)
        self._declare(name, params, result, generator.cost)

    def add_recursive(self) -> None:
        """A function that calls itself with a smaller counter."""
        name, generator = self._name(), self._generator(3)
        params = (INT, *self._params())
        result = generator.signature_type(Scope())
        made = generator.counting_function(GlobalVar(name), params, result, self._scope(), 3)
        self.functions[name] = made
        self._declare(name, params, result, generator.cost, counts=True)

    def add_mutual(self) -> None:
        """Two functions that call each other."""
        first, generator = self._name(), self._generator(3)
        second = f"{first}_partner"
        result = generator.signature_type(Scope())
        signatures = {first: (INT, *self._params()), second: (INT, *self._params())}
        scope = self._scope()
        for name, other in ((first, second), (second, first)):
            self.functions[name] = generator.counting_function(
                GlobalVar(other), signatures[name], result, scope, 3, signatures[other]
            )
        self._declare(first, signatures[first], result, generator.cost, counts=True)

    def add_general(self) -> None:
        """A polymorphic function."""
        name, generator = self._name(), self._generator(3)
        signature, made = generator.polymorphic_function(GlobalVar(name), self._scope(), 3)
        self.functions[name] = made
        self.signatures.append(signature)

    def module(self, types: tuple[Type, ...]) -> Module:
        """The typed module, with a `main` that takes these types."""
        variables = tuple(Var(f"in{i}", type_) for i, type_ in enumerate(types))
        scope = self._scope().binding(*zip(variables, types, strict=True))
        generator = self._generator(1)
        wanted = random_data(self.rng)
        body = generator.block(
            scope,
            self.rng.randint(0, 6),
            3,
            lambda inner: _observed(generator.expression(wanted, inner, 4), inner),
        )
        functions = {**self.functions, "main": Function(variables, body)}
        return infer_types(_with_library(functions, self.generator.also))

    def _name(self) -> str:
        return f"f{len(self.functions)}"

    def _generator(self, share: int) -> Generator:
        return self.generator(self.rng, LIBRARY, self.size // share)

    def _scope(self) -> Scope:
        return Scope(functions=tuple(self.signatures))

    def _params(self) -> tuple[Type, ...]:
        generator = self._generator(1)
        types = [generator.signature_type(Scope(), 1) for _ in range(self.rng.randint(0, 3))]
        return tuple(
            RefType(type_) if self.rng.random() < 0.15 and not contains_function(type_) else type_
            for type_ in types
        )

    def _declare(
        self, name: str, params: tuple[Type, ...], result: Type, cost: int, counts: bool = False
    ) -> None:
        self.signatures.append(Signature(GlobalVar(name), params, result, (), counts, cost))


def _observed(value: Expr, scope: Scope) -> Expr:
    """A value, and beside it all data that are in scope, so that a wrong one is seen."""
    fields = [value]
    for known in scope.variables:
        if is_data(known.type):
            fields.append(known.expr)
        elif isinstance(known.type, RefType) and is_data(known.type.value):
            fields.append(RefRead(known.expr))
    return Tuple(tuple(fields)) if len(fields) > 1 else value


def _library_signature(name: str) -> Signature:
    type_ = LIBRARY[name].type
    assert isinstance(type_, FuncType)
    counts = name in COUNTING
    return Signature(
        GlobalVar(name), type_.params, type_.result, type_.type_params, counts, COST_OF_LIBRARY
    )


def _with_library(functions: dict[str, Function], also: Mapping[str, Function]) -> Module:
    """A module of these functions and of those of the libraries that they use."""
    used: dict[str, Function] = {}
    pending = list(functions)
    while pending:
        name = pending.pop()
        if name not in used:
            used[name] = functions.get(name) or also.get(name) or LIBRARY[name]
            pending += used_globals(used[name])
    return Module(used, LIBRARY.types)
