"""What tests of passes share: typed modules from text, weights, and a comparison of meaning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.ir.expr import Call
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types


@pytest.fixture
def typed() -> Callable[..., Module]:
    """typed(text, *weights): the typed module of `fn` text, the named parameters made constants."""

    def build(text: str, *weights: str) -> Module:
        module = infer_types(parse(f'#[version = "0.0.5"]\ndef @main{text}'))
        return infer_types(BindParameters(_random_values(module, weights))(module))

    return build


@pytest.fixture
def calls() -> Callable[[Module], list[str]]:
    """The names of the operators that @main calls, sorted."""

    def names(module: Module) -> list[str]:
        nodes = post_order(module.main)
        found = [n.callee for n in nodes if isinstance(n, Call) and isinstance(n.callee, Operator)]
        return sorted(operator.name for operator in found)

    return names


@pytest.fixture
def assert_same_meaning() -> Callable[[Module, Module], None]:
    """Both modules give the same values at random inputs, and have the same types."""

    def check(before: Module, after: Module) -> None:
        names = [var.name for var in before.main.params]
        inputs = _random_values(before, names)
        expected, found = interpret(before, **inputs), interpret(after, **inputs)
        np.testing.assert_allclose(_flat(found), _flat(expected), rtol=2e-4, atol=1e-4)
        assert infer_types(after).main.type == before.main.type

    return check


def _random_values(module: Module, names: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    types = {var.name: var.annotation for var in module.main.params}
    values = {}
    for name in names:
        type_ = types[name]
        assert isinstance(type_, TensorType)
        values[name] = rng.uniform(0.5, 1.5, type_.shape).astype(type_.dtype)
    return values


def _flat(value: Any) -> np.ndarray:
    if isinstance(value, tuple):
        return np.concatenate([_flat(part) for part in value])
    return np.asarray(value, dtype="float64").reshape(-1)
