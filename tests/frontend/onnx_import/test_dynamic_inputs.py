"""Sizes that files leave open, in the ways in which exporters write it, and likely sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.onnx_import.deciding_inputs import deciding_inputs
from relay_tune.frontend.onnx_import.dynamic_inputs import GUESSES, declared_inputs
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
info = helper.make_tensor_value_info


def graph_of(
    *inputs: onnx.ValueInfoProto,
    nodes: tuple[onnx.NodeProto, ...] = (),
    weights: dict[str, tuple[int, ...]] | None = None,
) -> onnx.GraphProto:
    arrays = [
        numpy_helper.from_array(np.zeros(shape, np.float32), name)
        for name, shape in (weights or {}).items()
    ]
    return helper.make_graph(list(nodes), "g", list(inputs), [], arrays)


def likely(*inputs: onnx.ValueInfoProto, **options: Any) -> dict[str, tuple[int, ...]]:
    return declared_inputs(graph_of(*inputs, **options)).likely_shapes(GUESSES[0])


@pytest.mark.parametrize("written", ["-1", "0 with a denotation", "nothing", "?", "None", "N"])
def test_a_size_is_dynamic_however_it_is_written(written: str) -> None:
    value = info("x", FLOAT, ["N", 3])
    dim = value.type.tensor_type.shape.dim[0]
    match written:
        case "-1":
            dim.dim_value = -1
        case "0 with a denotation":
            dim.dim_value, dim.denotation = 0, "DATA_BATCH"
        case "nothing":
            dim.Clear()
        case _:
            dim.dim_param = written
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [value], [info("y", FLOAT, None)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    assert declared_inputs(graph).inputs[0].is_dynamic
    for rows in (1, 5):
        x = np.full((rows, 3), -1, np.float32)
        np.testing.assert_array_equal(interpret(from_onnx(model), x=x), x * 0)
    (param,) = from_onnx(model, shapes={"x": (4, 3)}).main.params
    assert param.type == TensorType((4, 3), "float32")


def test_names_without_meaning_are_different_sizes() -> None:
    inputs = [info("x", FLOAT, ["?"]), info("y", FLOAT, ["?"])]
    node = helper.make_node("Concat", ["x", "y"], ["z"], axis=0)
    graph = helper.make_graph([node], "g", inputs, [info("z", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    x, y = np.ones(2, np.float32), np.ones(3, np.float32)
    assert interpret(from_onnx(model), x=x, y=y).shape == (5,)


@pytest.mark.parametrize(
    ("sizes", "dtype", "expected"),
    [
        (["N", 3, "H", "W"], FLOAT, (1, 3, 224, 224)),
        ([None, None, None, None], FLOAT, (1, 3, 224, 224)),
        ([None, None, None, 3], FLOAT, (1, 224, 224, 3)),
        (["batch", 1, 32, "width"], FLOAT, (1, 1, 32, 224)),
        (["batch", "length"], INT, (1, 128)),
        (["batch", "samples"], FLOAT, (1, 512)),
        (["batch", "length", 80], FLOAT, (1, 128, 80)),
        ([2, "batch", 64], FLOAT, (2, 1, 64)),
        (["batch", 8, "past", 64], FLOAT, (1, 8, 16, 64)),
        (["batch", 8, None, 64], FLOAT, (1, 8, 16, 64)),
        (["batch"], INT, (1,)),
        (["B", "N"], FLOAT, (1, 512)),
        (["batch_size", "n"], INT, (1, 128)),
        (["T", "N", 80], FLOAT, (1, 1, 80)),
        ([2, 3], FLOAT, None),
    ],
)
def test_likely_sizes(sizes: list[Any], dtype: int, expected: tuple[int, ...] | None) -> None:
    assert likely(info("x", dtype, sizes)).get("x") == expected


def test_equal_names_get_equal_sizes_and_sums_are_sums() -> None:
    found = likely(
        info("ids", INT, ["batch", "length"]),
        info("mask", INT, ["batch", "past + length"]),
        info("past.key", FLOAT, ["batch", 4, "past", 8]),
    )
    assert found == {"ids": (1, 128), "mask": (1, 144), "past.key": (1, 4, 16, 8)}


@pytest.mark.parametrize("total", ["total", None])
def test_masks_of_a_decoder_count_cached_and_new_steps(total: str | None) -> None:
    found = likely(
        info("mask", INT, ["batch", total]),
        info("ids", INT, ["batch", "length"]),
        info("key", FLOAT, ["batch", 4, "steps", 8]),
    )
    assert found == {"mask": (1, 144), "ids": (1, 128), "key": (1, 4, 16, 8)}


@pytest.mark.parametrize(
    ("operator", "attributes", "weight", "declared", "expected"),
    [
        ("Conv", {"group": 2}, (8, 3, 3, 3), [None, None, None, None], (1, 6, 224, 224)),
        ("Conv", {}, (8, 5, 3), None, (1, 5, 128)),
        ("ConvTranspose", {"group": 2}, (6, 5, 3), [None, None, None], (1, 6, 128)),
        ("BatchNormalization", {}, (6,), ["b", "c", "t"], (1, 6, 128)),
        ("LayerNormalization", {}, (5, 6), ["b", "t", "c"], (1, 5, 6)),
        ("MatMul", {}, (48, 8), ["b", "t", "f"], (1, 128, 48)),
        ("Gemm", {"transB": 1}, (8, 48), ["b", "f"], (1, 48)),
        ("LSTM", {}, (1, 32, 48), ["t", "b", None], (1, 1, 48)),
    ],
)
def test_weights_say_how_many_channels_there_are(
    operator: str,
    attributes: dict[str, int],
    weight: tuple[int, ...],
    declared: list[Any] | None,
    expected: tuple[int, ...],
) -> None:
    node = helper.make_node(operator, ["x", "w"], ["y"], **attributes)
    assert likely(info("x", FLOAT, declared), nodes=(node,), weights={"w": weight})["x"] == expected


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM"])
def test_a_weight_with_too_few_axes_says_nothing(operator: str) -> None:
    node = helper.make_node(operator, ["x", "w"], ["y"])
    value = info("x", FLOAT, ["n", "c"])
    assert likely(value, nodes=(node,), weights={"w": ()}) == likely(value)


def test_inputs_that_decide_are_found_with_the_values_that_they_are_compared_with() -> None:
    def constant(name: str, value: Any) -> onnx.NodeProto:
        return helper.make_node(
            "Constant", [], [name], value=numpy_helper.from_array(np.array(value))
        )

    inner = helper.make_graph([helper.make_node("If", ["flag"], ["b"])], "inner", [], [])
    nodes = (
        constant("high", np.int64(16000)),
        helper.make_node("Equal", ["sr", "high"], ["is_high"]),
        helper.make_node("If", ["is_high"], ["a"], then_branch=inner),
        helper.make_node("Loop", ["rounds", ""], ["c"]),
        helper.make_node("Add", ["x", "other"], ["d"]),
    )
    inputs = [
        info("x", FLOAT, [64]),
        info("sr", INT, []),
        info("flag", TensorProto.BOOL, [1]),
        info("rounds", INT, []),
        info("other", INT, []),
    ]
    assert deciding_inputs(graph_of(*inputs, nodes=nodes)) == {
        "sr": (16000,),
        "flag": (True, False),
        "rounds": (1,),
    }


def test_damaged_constants_decide_nothing() -> None:
    """They are refused by the import; the search for inputs that decide passes them by."""
    short = TensorProto(name="short", data_type=FLOAT, raw_data=b"12345")
    wide = TensorProto(name="wide", data_type=FLOAT, raw_data=b"1234", dims=[2**32, 2**32])
    nodes = [helper.make_node("Constant", [], [], value=short)]
    graph = helper.make_graph(nodes, "g", [info("x", FLOAT, [])], [], [short, wide])
    assert deciding_inputs(graph) == {}


def test_lengths_that_reshapes_write_out_are_guesses() -> None:
    nodes = (
        helper.make_node("Unsqueeze", ["seven", "zero"], ["length"]),
        helper.make_node("Concat", ["heads", "length"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    )
    graph = graph_of(info("x", FLOAT, ["b", "t", 32]), nodes=nodes)
    constants = {"seven": np.array(7), "zero": np.array([0]), "heads": np.array([-1, 0, 4])}
    graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in constants.items())
    inputs = declared_inputs(graph)
    assert [inputs.likely_shapes(guess)["x"] for guess in inputs.guesses[len(GUESSES) :]] == [
        (1, 7, 32),
        (1, 4, 32),
    ]


CACHES = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, new] x, float[past, 4] a, float[past, 4] b) => (float y, float z) {
        y = Identity(x)
        z = Add(a, b) }"""


@pytest.mark.parametrize("past", [3, (3,)])
def test_a_size_gets_its_number_by_its_own_name(past: object) -> None:
    module = from_onnx(onnx.parser.parse_model(CACHES), shapes={"past": past, "x": (1, 2)})
    shapes = [param.type.shape for param in module.main.params]
    assert shapes == [(1, 2), (3, 4), (3, 4)]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"now": 3}, "'now', which is not an input"),
        ({"past": (3, 4)}, r"The size 'past' cannot be \(3, 4\)"),
        ({"past": -1}, "'past' has the size -1"),
        ({"past": True}, "The size 'past' cannot be True"),
        ({"past": 3, "a": (2, 4)}, "has the size 3 at axis 0, where 2 is needed"),
    ],
)
def test_sizes_that_no_name_can_have_are_refused(shapes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        from_onnx(onnx.parser.parse_model(CACHES), shapes=shapes)
    if "now" in shapes:
        assert caught.value.notes[-1] == "The names of sizes are new, past."


def test_what_is_proposed_names_as_many_inputs_as_tell_all_sizes() -> None:
    text = CACHES.replace("z = Add(a, b)", 'z = LSTM<direction = "sideways">(a, b, x)')
    with pytest.raises(RelayError) as caught:
        from_onnx(onnx.parser.parse_model(text))
    assert "shapes={'x': (1, 512), 'a': (16, 4)}" in str(caught.value.remedy)
    assert "'b'" not in str(caught.value.remedy)
