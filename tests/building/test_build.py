from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.expr import Call, Expr, Function, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.model import Model
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.tensor import compute
from tests.schedule.machines import core

Op = Callable[..., Call]
Check = Callable[..., Model]

RNG = np.random.default_rng(7)
IMAGE = TensorType((1, 4, 9, 9), "float32")


def weights(*shape: int) -> Expr:
    return constant(RNG.uniform(-0.5, 0.5, shape).astype("float32"))


def image() -> np.ndarray:
    return RNG.standard_normal((1, 4, 9, 9)).astype("float32")


def convolutions(op: Op, x: Expr, count: int) -> Expr:
    for _ in range(count):
        x = op("nn.relu", op("nn.conv2d", x, weights(4, 4, 3, 3), padding=(1, 1)))
    return x


@pytest.mark.parametrize("threads", [1, 2])
def test_a_small_network(op: Op, check: Check, threads: int) -> None:
    x = Var("x", IMAGE)
    y = convolutions(op, x, 2)
    pooled = op("nn.batch_flatten", op("nn.global_avg_pool2d", op("add", x, y)))
    body = op("nn.softmax", op("nn.dense", pooled, weights(5, 4)))
    check(Module.from_function(Function((x,), body)), image(), threads=threads)


def test_equal_primitives_share_kernels_but_not_weights(op: Op, check: Check) -> None:
    x = Var("x", TensorType((3, 8), "float32"))
    y: Expr = x
    for _ in range(3):
        y = op("nn.softmax", op("nn.dense", y, weights(8, 8)))
    module = Module.from_function(Function((x,), y))
    model = check(module, RNG.standard_normal((3, 8)).astype("float32"))
    steps = model.compiled().regions[0].steps
    assert len({step.digest for step in steps}) < len(steps)


def test_more_primitives_than_are_compiled_in_this_process(op: Op, check: Check) -> None:
    x = Var("x", TensorType((2, 6), "float32"))
    y: Expr = x
    for width in range(7, 15):
        y = op("nn.dense", op("nn.softmax", y), weights(width, width - 1))
    check(Module.from_function(Function((x,), y)), RNG.standard_normal((2, 6)).astype("float32"))


def test_outputs_that_are_inputs_constants_views_or_the_same(op: Op, check: Check) -> None:
    x = Var("x", TensorType((2, 6), "float32"))
    y = op("nn.softmax", x)
    flat = op("reshape", y, newshape=(12,))
    body = Tuple((x, y, y, flat, op("reshape", x, newshape=(3, 4)), weights(2, 2)))
    check(Module.from_function(Function((x,), body)), RNG.standard_normal((2, 6)).astype("float32"))


def test_an_output_that_is_also_used_inside(op: Op, check: Check) -> None:
    x = Var("x", IMAGE)
    y = convolutions(op, x, 1)
    module = Module.from_function(Function((x,), Tuple((y, convolutions(op, y, 2)))))
    check(module, image())


def test_integers_and_scalars(op: Op, check: Check) -> None:
    x, n = Var("x", TensorType((5,), "int64")), Var("n", TensorType((), "int64"))
    body = op("sum", op("multiply", op("add", x, n), x), axis=(0,))
    check(Module.from_function(Function((x, n), body)), np.arange(5), np.asarray(3))


def test_names_of_outputs_come_from_the_module(op: Op) -> None:
    x = Var("data", TensorType((4,), "float32"))
    body = Tuple((op("nn.relu", x), op("exp", x)))
    module = Module({"main": Function((x,), body)}, attributes={"outputs": ("a", "b")})
    model = build(module, threads=1)
    assert list(model.inputs) == ["data"] and list(model.outputs) == ["a", "b"]
    assert model.outputs["a"] == TensorType((4,), "float32")


def test_code_for_symbolic_shapes_takes_any_size(op: Op, check: Check) -> None:
    x = Var("x", TensorType((Symbol("n"), 8), "float32"))
    body = op("nn.softmax", op("nn.dense", x, weights(5, 8)))
    module = Module.from_function(Function((x,), body))
    model = check(module, RNG.standard_normal((3, 8)).astype("float32"))
    assert isinstance(model.inputs["x"].shape[0], Symbol)
    outputs = [model(np.ones((n, 8), "float32")) for n in (1, 4, 1)]
    assert [np.shape(output) for output in outputs] == [(1, 5), (4, 5), (1, 5)]
    model.specialize(np.ones((4, 8), "float32"))
    np.testing.assert_allclose(model(np.ones((4, 8), "float32")), outputs[1], rtol=1e-6)


def first_half_type(inputs: Sequence[Any], *_: object) -> TensorType:
    """Half as many elements; how many that is, it does not say of open sizes."""
    (size,) = inputs[0].shape
    return TensorType((size // 2 if isinstance(size, int) else UNKNOWN,), inputs[0].dtype)


FIRST_HALF = Operator(
    "test.first_half",
    ("data",),
    first_half_type,
    FusionKind.INJECTIVE,
    reference=lambda _, data: data[: len(data) // 2],
    compute=lambda _, inputs, types: [compute("half", types[0].shape, lambda i: inputs[0][(i,)])],
)


def test_where_an_operator_has_no_code_for_all_sizes_shapes_are_compiled_for_when_they_come() -> (
    None
):
    x = Var("x", TensorType((Symbol("n"),), "float32"))
    module = Module.from_function(Function((x,), Call(FIRST_HALF, (x,))))
    told: list[str] = []
    model = build(module, threads=1, report=told.append)
    assert any("no code for all sizes" in line and "first_half" in line for line in told)
    for n in (2, 5):
        data = RNG.standard_normal(n).astype("float32")
        np.testing.assert_array_equal(model(data), interpret(module, data))
    with pytest.raises(InputError, match="cannot be exported with input"):
        model.export("never.so")


def test_a_given_schedule_is_used(op: Op) -> None:
    x = Var("x", TensorType((8, 16), "float32"))
    module = Module.from_function(Function((x,), op("nn.dense", x, weights(32, 16))))
    asked: list[PrimitiveKey] = []

    def choose(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        asked.append(key)
        return plan.default_schedule(core(16, 16), 1)

    data = RNG.standard_normal((8, 16)).astype("float32")
    chosen = build(module, threads=1, schedules=choose)
    assert [key.title for key in asked] == ["dense 8x32"]
    np.testing.assert_allclose(chosen(data), build(module, threads=1)(data), rtol=1e-5)


def test_a_target_of_the_same_family_runs_here(op: Op) -> None:
    x = Var("x", IMAGE)
    module = Module.from_function(Function((x,), convolutions(op, x, 2)))
    data = image()
    model = build(module, target="x86_64-linux-gnu:haswell", threads=1)
    np.testing.assert_allclose(model(data), build(module, threads=1)(data), rtol=1e-4, atol=1e-5)


def test_a_foreign_target_builds_but_does_not_run(op: Op) -> None:
    x = Var("x", TensorType((4,), "float32"))
    module = Module.from_function(Function((x,), op("nn.relu", x)))
    model = build(module, target="aarch64-linux-gnu:cortex-a72", threads=1)
    with pytest.raises(InputError, match="made for aarch64"):
        model(np.ones(4, "float32"))


def test_threads_must_be_positive(op: Op) -> None:
    x = Var("x", TensorType((4,), "float32"))
    with pytest.raises(InputError, match="threads is 0"):
        build(Module.from_function(Function((x,), op("nn.relu", x))), threads=0)


def test_builds_run_algorithms_of_a_laxer_accuracy_that_were_chosen(op: Op) -> None:
    """Strassen's mixes samples, so that plans allow it only where somebody has asked for it."""
    chosen: list[str] = []

    def relaxed(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        allowed = plan.with_accuracy(Accuracy.RELAXED)
        if STRASSEN() not in allowed.algorithms:
            return None
        chosen.append(key.title)
        return allowed.with_algorithm(STRASSEN()).default_under_algorithm(core(8, 16), 1)[1]

    x = Var("x", TensorType((64, 256), "float32"))
    body = op("nn.relu", op("nn.dense", x, weights(256, 256)))
    module = Module.from_function(Function((x,), body))
    data = RNG.standard_normal((64, 256)).astype("float32")
    model = build(module, threads=1, accuracy=Accuracy.RELAXED, schedules=relaxed)
    assert chosen
    np.testing.assert_allclose(model(data), interpret(module, data), rtol=1e-4, atol=1e-4)
