from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from relay_tune import zoo
from relay_tune.errors import InputError
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.expr import Constant
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType, TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types

pytestmark = pytest.mark.builds_apart

TOLERANCE = 1e-4


@pytest.mark.parametrize("name", zoo.names())
def test_small_networks_agree_with_onnxruntime(name: str) -> None:
    module = zoo.build(name, small=True)
    inputs = zoo.example_inputs(module, seed=1)
    session = onnxruntime.InferenceSession(to_onnx(module).SerializeToString())
    (expected,) = session.run(None, inputs)
    actual = interpret(module, **inputs)
    assert np.abs(actual - expected).max() <= TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("name", zoo.names())
def test_activations_stay_bounded(name: str) -> None:
    module = zoo.build(name, small=True)
    result = interpret(module, **zoo.example_inputs(module))
    assert 1e-2 < np.abs(result).max() < 100


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet1_1"])
def test_full_size_image_networks_have_a_thousand_scores(name: str) -> None:
    type_ = infer_types(zoo.build(name)).main.type
    image = TensorType((1, 3, 224, 224), "float32")
    assert type_ == FuncType((image,), TensorType((1, 1000), "float32"))


def test_full_size_resnet18_has_its_number_of_weights() -> None:
    body = zoo.build("resnet18").main.body
    weights = sum(node.data.size for node in post_order(body) if isinstance(node, Constant))
    statistics = 2 * 4800
    assert weights == 11_689_512 + statistics


def test_batch_is_that_of_the_name_or_the_argument() -> None:
    shapes = [
        zoo.example_inputs(zoo.build(name, batch=batch, small=True))["data"].shape[0]
        for name, batch in (("mlp", None), ("mlp", 3), ("mlp_batch64", None), ("mlp_batch64", 1))
    ]
    assert shapes == [1, 3, 64, 1]


def test_seed_decides_the_weights() -> None:
    first, second, third = (zoo.build("mlp", seed=seed, small=True) for seed in (0, 0, 1))
    inputs = zoo.example_inputs(first)
    assert np.array_equal(interpret(first, **inputs), interpret(second, **inputs))
    assert not np.array_equal(interpret(first, **inputs), interpret(third, **inputs))


def test_example_inputs_have_the_declared_types() -> None:
    inputs = zoo.example_inputs(zoo.build("bert_base", small=True))
    assert list(inputs) == ["input_ids", "token_type_ids", "attention_mask"]
    assert all(array.dtype == np.int64 for array in inputs.values())
    assert inputs["input_ids"].max() > 1
    assert set(np.unique(inputs["attention_mask"])) == {0, 1}


def test_unknown_name_lists_the_networks_and_the_closest() -> None:
    with pytest.raises(InputError) as caught:
        zoo.build("resnet_18")
    assert caught.value.remedy == "Did you mean resnet18 or resnet50?"
    assert all(name in caught.value.notes[0] for name in zoo.names())


def test_batch_must_be_positive() -> None:
    with pytest.raises(InputError, match="at least 1"):
        zoo.build("mlp", batch=0)


def test_examples_of_indices_are_in_range() -> None:
    module = parse(
        "def @main(%t: Tensor[(1, 4), float32], %i: Tensor[(40), int32], %m: Tensor[(8), bool]) "
        '{ (take(%t, cast(%i, dtype="int64"), axis=0, mode="raise"), %m) }'
    )
    inputs = zoo.example_inputs(module)
    assert not inputs["i"].any()
    assert inputs["m"].any()
