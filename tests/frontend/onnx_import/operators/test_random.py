"""Random numbers of ONNX: shapes, types, distributions, seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay_tune as rt
from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

NodeModel = Callable[..., onnx.ModelProto]


def drawn(model: onnx.ModelProto, *inputs: np.ndarray) -> np.ndarray:
    """What native code gives, which is what the interpreter gives."""
    module = from_onnx(model)
    result = rt.build(module)(*inputs)
    expected = rt.interpret(module, *inputs)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result.astype(float), np.asarray(expected).astype(float), atol=1e-5)
    return result


@pytest.mark.parametrize(
    ("operator", "attributes", "mean", "spread"),
    [
        ("RandomUniform", {"low": -2.0, "high": 4.0}, 1.0, 6 / np.sqrt(12)),
        ("RandomNormal", {"mean": 3.0, "scale": 0.5}, 3.0, 0.5),
    ],
)
def test_numbers_of_a_shape(
    node_model: NodeModel, operator: str, attributes: dict[str, float], mean: float, spread: float
) -> None:
    model = node_model(operator, [], shape=[50, 80], seed=3.0, **attributes)
    result = drawn(model)
    assert (result.shape, result.dtype) == ((50, 80), np.float32)
    assert abs(result.mean() - mean) < 0.06 * spread
    assert abs(result.std() - spread) < 0.05 * spread
    np.testing.assert_array_equal(rt.build(from_onnx(model))(), result)


@pytest.mark.parametrize("operator", ["RandomUniformLike", "RandomNormalLike"])
@pytest.mark.parametrize(("dtype", "wanted"), [(None, "float64"), (10, "float16")])
def test_numbers_like_a_tensor(
    node_model: NodeModel, operator: str, dtype: int | None, wanted: str
) -> None:
    options = {} if dtype is None else {"dtype": dtype}
    x = np.zeros((3, 4), np.float64)
    result = drawn(node_model(operator, [x], **options), x)
    assert (result.shape, result.dtype.name) == ((3, 4), wanted)


def two_nodes(*seeds: float | None) -> onnx.ModelProto:
    nodes = [
        helper.make_node(
            "RandomNormalLike", ["x"], [f"y{n}"], **({} if seed is None else {"seed": seed})
        )
        for n, seed in enumerate(seeds)
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, None) for n in range(2)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize(
    ("seeds", "equal"), [((1.5, 1.5), True), ((1.0, 2.0), False), ((None, None), False)]
)
def test_seeds_of_open_sizes(seeds: tuple[float | None, ...], equal: bool) -> None:
    model = rt.build(from_onnx(two_nodes(*seeds)))
    for shape in ((5, 7), (1, 90), (0, 3)):
        first, second = model(np.ones(shape, np.float32))
        assert first.shape == second.shape == shape
        assert np.array_equal(first, second) == (equal or not first.size)
    again = rt.build(from_onnx(two_nodes(*seeds)))(np.ones((5, 7), np.float32))[0]
    np.testing.assert_array_equal(again, model(np.zeros((5, 7), np.float32))[0])


def test_open_sizes_draw_what_fixed_sizes_draw() -> None:
    x = np.ones((6, 9), np.float32)
    fixed = rt.build(from_onnx(two_nodes(4.0, 5.0), shapes={"x": (6, 9)}))(x)
    for one, other in zip(rt.build(from_onnx(two_nodes(4.0, 5.0)))(x), fixed, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_ones_with_a_probability(node_model: NodeModel) -> None:
    chance = np.repeat(np.array([0, 0.25, 0.9, 1], np.float32), 2000).reshape(4, 2000)
    result = drawn(node_model("Bernoulli", [chance], seed=1.0, dtype=6), chance)
    assert result.dtype == np.int32
    assert set(np.unique(result)) == {0, 1}
    np.testing.assert_allclose(result.mean(axis=1), [0, 0.25, 0.9, 1], atol=0.03)


def test_classes_by_their_probabilities(node_model: NodeModel) -> None:
    share = np.array([[0.1, 0.6, 0.3, 0.0], [0.5, 0.0, 0.0, 0.5]], np.float32)
    with np.errstate(divide="ignore"):
        logits = np.log(share) + 3
    model = node_model("Multinomial", [logits], sample_size=4000, seed=2.0, dtype=7)
    result = drawn(model, logits)
    assert (result.dtype, result.shape) == (np.int64, (2, 4000))
    for row, wanted in zip(result, share, strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / 4000, wanted, atol=0.03)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_of_training_scales_what_it_keeps(node_model: NodeModel, training: bool) -> None:
    x = np.full((40, 50), 2, np.float32)
    ratio, mode = np.array(0.25, np.float32), np.array(training)
    model = node_model("Dropout", [x, ratio, mode], outputs=2, seed=9)
    result, mask = rt.build(from_onnx(model))(x, ratio, mode)
    assert mask.dtype == np.bool_
    np.testing.assert_allclose(result, np.where(mask, x / 0.75 if training else x, 0), rtol=1e-6)
    assert abs(mask.mean() - (0.75 if training else 1)) < 0.03


def test_integers_are_refused(node_model: NodeModel) -> None:
    with pytest.raises(ModelError, match="floats, but int32"):
        from_onnx(node_model("RandomNormal", [], shape=[2], dtype=6))
