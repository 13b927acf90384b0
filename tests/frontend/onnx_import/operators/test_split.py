"""Parts of axes, of sizes that the file, sizes of inputs, or only a run tells."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

import relay_tune as rt
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.conftest import onnxruntime_outputs

INT64, FLOAT = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT

SIZES = {"constant": None, "counted": [3], "not counted": ["k"]}


def split_model(operator: str, length: int | str | None, kind: str) -> onnx.ModelProto:
    """Parts of x: (length, 2) of sizes that are 2, 0 and 3 where they are constant."""
    shape = SIZES[kind]
    inputs = [helper.make_tensor_value_info("x", FLOAT, [length, 2])]
    weights = []
    if shape is None:
        weights = [onnx.numpy_helper.from_array(np.array([2, 0, 3]), "sizes")]
    else:
        inputs.append(helper.make_tensor_value_info("sizes", INT64, shape))
    if operator == "Split":
        results = [helper.make_tensor_value_info(n, FLOAT, [None, 2]) for n in "abc"]
    else:
        part = helper.make_tensor_type_proto(FLOAT, [None, 2])
        results = [helper.make_value_info("s", helper.make_sequence_type_proto(part))]
    node = helper.make_node(operator, ["x", "sizes"], [each.name for each in results], axis=0)
    graph = helper.make_graph([node], "parts", inputs, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


CASES = [("SplitToSequence", kind) for kind in SIZES] + [
    ("Split", "constant"),
    ("Split", "counted"),
]


@pytest.mark.parametrize("length", [5, "n"])
@pytest.mark.parametrize(("operator", "kind"), CASES)
def test_parts_make_up_the_axis(operator: str, kind: str, length: int | str) -> None:
    model = split_model(operator, length, kind)
    compiled = rt.build(from_onnx(model))
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    feeds = {"x": x}
    if kind != "constant":
        feeds["sizes"] = np.array([2, 0, 3])
    found, wanted = compiled.run(None, dict(feeds)), onnxruntime_outputs(model, feeds)
    if operator == "SplitToSequence":
        (found,), (wanted,) = found, wanted
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    wrong = [[2, 0, 2], [2, 0, 4], [3, -1, 3]]
    if kind != "constant":
        for sizes in wrong:
            with pytest.raises(RelayError, match=operator):
                compiled.run(None, {"x": x, "sizes": np.array(sizes)})
    elif length == "n":
        for rows in (4, 6):
            with pytest.raises(RelayError, match=operator):
                compiled.run(None, {"x": np.ones((rows, 2), np.float32)})


def test_more_sizes_than_are_known() -> None:
    compiled = rt.build(from_onnx(split_model("SplitToSequence", "n", "not counted")))
    for sizes in ([], [1], [1, 2, 0, 1]):
        x = np.arange(2.0 * sum(sizes), dtype=np.float32).reshape(sum(sizes), 2)
        (found,) = compiled.run(None, {"x": x, "sizes": np.array(sizes, np.int64)})
        assert [len(part) for part in found] == sizes
        np.testing.assert_array_equal(np.concatenate([x[:0], *found]), x)


def test_parts_have_at_least_one_element() -> None:
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["n"]),
        helper.make_tensor_value_info("size", INT64, []),
    ]
    part = helper.make_tensor_type_proto(FLOAT, [None])
    results = [helper.make_value_info("s", helper.make_sequence_type_proto(part))]
    node = helper.make_node("SplitToSequence", ["x", "size"], ["s"], axis=0)
    graph = helper.make_graph([node], "parts", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    compiled, x = rt.build(from_onnx(model)), np.arange(5, dtype=np.float32)
    (found,) = compiled.run(None, {"x": x, "size": np.array(2)})
    assert [each.tolist() for each in found] == [[0, 1], [2, 3], [4]]
    for size in (0, -1):
        with pytest.raises(RelayError, match="SplitToSequence"):
            compiled.run(None, {"x": x, "size": np.array(size)})


LENGTHS = """
<ir_version: 8, opset_import: ["" : 18]>
g (int64[n] counts, float[n, 2] x) => (float[m, 2] y)
<int64[1] two = {2}, int64 first = {0}> {
  length = Shape(counts)
  filled = ConstantOfShape<value = int64[1] {1}>(length)
  parts = SplitToSequence<axis = 0>(counts, filled)
  rows = SplitToSequence<axis = 0>(x, filled)
  count = SequenceAt(parts, first)
  row = SequenceAt(rows, first)
  shape = Concat<axis = 0>(count, two)
  y = Expand(row, shape)
}"""


@pytest.mark.parametrize("length", [1, 2, 5])
def test_parts_of_sizes_that_are_one_number_have_that_size(length: int) -> None:
    """As torch writes repeat_interleave with a count for each row: parts are used as a shape."""
    model = onnx.parser.parse_model(LENGTHS)
    compiled = rt.build(from_onnx(model))
    x = np.arange(2.0 * length, dtype=np.float32).reshape(length, 2)
    feeds = {"counts": np.arange(3, 3 + length), "x": x}
    found, wanted = compiled.run(None, dict(feeds)), onnxruntime_outputs(model, feeds)
    np.testing.assert_array_equal(found[0], wanted[0])
