from collections.abc import Callable

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.model import Model


def call_operator(name: str, *arguments: Expr, **attributes: object) -> Call:
    operator = find_operator(name)
    assert operator is not None
    return operator(*arguments, **attributes)


@pytest.fixture
def op() -> Callable[..., Call]:
    return call_operator


@pytest.fixture
def check() -> Callable[..., Model]:
    """Builds a module and compares it with the interpreter."""

    def run(module: Module, *inputs: np.ndarray, threads: int = 1) -> Model:
        model = build(module, threads=threads)
        found, expected = model(*inputs), interpret(module, *inputs)
        pairs = zip(_flat(found), _flat(expected), strict=True)
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
        return model

    return run


def _flat(value: object) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [array for part in value for array in _flat(part)]
    assert isinstance(value, np.ndarray)
    return [value]
