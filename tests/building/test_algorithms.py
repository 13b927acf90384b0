from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.expr import Call, Expr, Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from tests.schedule.machines import core

CHANNELS = 20
LAYERS = 3


def network(op: Callable[..., Call]) -> Module:
    """Layers of one shape, each with weights of its own."""
    rng = np.random.default_rng(5)
    x = Var("x", TensorType((1, CHANNELS, 10, 13), "float32"))
    y: Expr = x
    for _ in range(LAYERS):
        taps = rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) / np.sqrt(9 * CHANNELS)
        convolved = op("nn.conv2d", y, constant(taps.astype("float32")), padding=(1, 1))
        y = op("add", op("nn.relu", convolved), y)
    return Module.from_function(Function((x,), y))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", [WINOGRAD(tile=2), WINOGRAD(tile=4)])
def test_layers_that_share_kernels_keep_their_weights(
    op: Callable[..., Call], algorithm: AppliedAlgorithm, threads: int
) -> None:
    module = network(op)
    used: list[str] = []

    def choose(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        if algorithm not in plan.algorithms:
            return None
        used.append(key.digest)
        return plan.with_algorithm(algorithm).default_under_algorithm(core(32, 16), threads)[1]

    data = np.random.default_rng(6).standard_normal((1, CHANNELS, 10, 13)).astype("float32")
    model = build(module, threads=threads, schedules=choose)
    found, expected = model(data), interpret(module, data)
    assert isinstance(found, np.ndarray) and isinstance(expected, np.ndarray)
    assert 1 <= len(used) <= LAYERS
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()
