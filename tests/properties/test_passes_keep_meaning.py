"""Any small network means the same after each pass of the default pipeline."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.typed import call, constant_of, tuple_of
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.module_pass import ModulePass
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline
from relay_tune.typing.infer import infer_types

IMAGE = TensorType((1, 4, 6, 6), "float32")
STEPS = (
    "conv",
    "depthwise",
    "pointwise conv",
    "bias",
    "scale",
    "relu",
    "sigmoid",
    "add earlier",
    "concatenate",
    "pool",
    "gate",
    "move axes",
    "halve",
)


class Network:
    """Grows a network of images with 4 or more channels, one drawn step after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = Var("x", IMAGE, type=IMAGE)
        self.values: list[Expr] = [self.x]

    def weights(self, *shape: int) -> Expr:
        return constant_of(self.rng.uniform(-0.5, 0.5, shape).astype("float32"))

    def grow(self, step: str, choice: int) -> None:
        last = self.values[-1]
        channels = (static_shape(last) or ())[1]
        self.values.append(self._next(step, choice, last, channels))

    def _next(self, step: str, choice: int, last: Expr, channels: int) -> Expr:
        match step:
            case "conv":
                weight = self.weights(4, channels, 3, 3)
                return call("nn.conv2d", last, weight, padding=(1, 1))
            case "depthwise":
                weight = self.weights(channels, 1, 3, 3)
                return call("nn.conv2d", last, weight, padding=(1, 1), groups=channels)
            case "pointwise conv":
                return call("nn.conv2d", last, self.weights(4, channels, 1, 1))
            case "bias":
                return call("nn.bias_add", last, self.weights(channels))
            case "scale":
                return call("multiply", last, self.weights(channels, 1, 1))
            case "relu":
                return call("nn.relu", last)
            case "sigmoid":
                return call("sigmoid", last)
            case "pool":
                return call("nn.max_pool2d", last, pool_size=(3, 3), padding=(1, 1))
            case "gate":
                mean = call("mean", last, axis=(2, 3), keepdims=True)
                return call("multiply", last, call("sigmoid", mean))
            case "move axes":
                moved = call("transpose", last, axes=(0, 2, 3, 1))
                return call(
                    "transpose",
                    call("exp", call("clip", moved, a_min=-1.0, a_max=1.0)),
                    axes=(0, 3, 1, 2),
                )
            case "halve":
                return call("divide", last, constant_of(np.asarray(2, "float32")))
            case _:
                return self._joined(step, last, self.values[choice % len(self.values)])

    def _joined(self, step: str, last: Expr, earlier: Expr) -> Expr:
        if step == "add earlier" and earlier.type == last.type:
            return call("add", last, earlier)
        return call("concatenate", tuple_of([last, earlier]), axis=1)

    def module(self) -> Module:
        return infer_types(Module.from_function(Function((self.x,), self.values[-1])))


@st.composite
def networks(draw: st.DrawFn) -> Module:
    network = Network(draw(st.integers(0, 100)))
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=7)):
        network.grow(step, draw(st.integers(0, 7)))
    return network.module()


@settings(max_examples=30, deadline=None)
@given(module=networks())
def test_every_pass_keeps_the_answer(module: Module) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, IMAGE.shape).astype("float32")
    expected = interpret(module, x)
    for step in default_pipeline().passes:
        module = step(module)
        found = interpret(module, x)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=step.name)


@pytest.mark.parametrize("step", default_pipeline(PipelineOptions()).passes, ids=lambda s: s.name)
@settings(max_examples=5, deadline=None)
@given(module=networks())
def test_a_pass_by_itself_keeps_types(step: ModulePass, module: Module) -> None:
    assert infer_types(step(module)).main.type == module.main.type
