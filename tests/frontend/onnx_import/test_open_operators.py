"""Operators whose sizes only a run knows, as files that others write have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.conftest import onnxruntime_outputs

RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def model_of(text: str, opset: int, weights: Mapping[str, Any]) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    arrays = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    model.graph.initializer.extend(arrays)
    return model


LIMIT = {"least": np.float32(0)}
ROWS = """ m = ReduceMax<axes=[1],keepdims=0>(x)
  c = Greater(m, least)
  k = Compress<axis=0>(x, c) """
"""The rows of a matrix with a positive number: as many as there are, a size without a name."""

CASES: dict[str, tuple[str, int, dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "rows through an LSTM": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          s = Unsqueeze(k, one)
          y, h = LSTM<hidden_size=4>(s, w, r) }""",
        17,
        LIMIT | {"one": ints(1), "w": floats(1, 16, 3), "r": floats(1, 16, 4)},
        {"x": (("n", 3),)},
    ),
    "a batch of rows through a GRU": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          s = Unsqueeze(k, zero)
          y, h = GRU<hidden_size=4, direction="reverse">(s, w, r) }""",
        17,
        LIMIT | {"zero": ints(0), "w": floats(1, 12, 3), "r": floats(1, 12, 4)},
        {"x": (("n", 3),)},
    ),
    "two unnamed sizes flattened": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          t = Transpose(k)
          p = MatMul(k, t)
          s = Unsqueeze(p, one)
          y = Flatten<axis=2>(s) }""",
        17,
        LIMIT | {"one": ints(1)},
        {"x": (("n", 3),)},
    ),
    "two unnamed sizes, copied by a reshape": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          t = Transpose(k)
          p = MatMul(k, t)
          s = Reshape(p, shape)
          y = Relu(s) }""",
        17,
        LIMIT | {"shape": ints(0, 1, -1)},
        {"x": (("n", 3),)},
    ),
    "axes of a slice": (
        "g (float[n, 3, m] x, int64[2] b, int64[2] e, int64[2] a) => (float y) "
        "{ y = Slice(x, b, e, a) }",
        17,
        {},
        {"x": (("n", 3, "m"),), "b": (ints(1, -2),), "e": (ints(3, 99),), "a": (ints(-1, 0),)},
    ),
    "cropping": (
        """g (float[1, 2, h, w] x) => (float y) { y = Resize<mode="linear",
          coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=1.5>
          (x, region, , sizes) }""",
        13,
        {
            "region": np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 1.1], np.float32),
            "sizes": ints(1, 2, 7, 8),
        },
        {"x": ((1, 2, "n", "m"),)},
    ),
    "antialiasing": (
        """g (float[1, 2, h, w] x) => (float y)
          { y = Resize<mode="linear", antialias=1>(x, , , sizes) }""",
        18,
        {"sizes": ints(1, 2, 3, 20)},
        {"x": ((1, 2, "n", "m"),)},
    ),
    "one scale for both axes": (
        """g (float[1, 2, h, w] x) => (float y) { y = Resize<mode="linear",
          keep_aspect_ratio_policy="not_larger", axes=[2, 3]>(x, , , sizes) }""",
        18,
        {"sizes": ints(9, 14)},
        {"x": ((1, 2, "n", "m"),)},
    ),
    "a spectrum": (
        "g (float[b, n, 1] x) => (float y) { y = DFT<onesided=1>(x) }",
        17,
        {},
        {"x": ((2, "n", 1),)},
    ),
    "a spectrum of 8": (
        "g (float[b, n, 1] x) => (float y) { y = DFT(x, eight) }",
        17,
        {"eight": np.int64(8)},
        {"x": ((2, "n", 1),)},
    ),
    "a spectrum of the whole axis": (
        """g (float[b, n, 1] x) => (float y) { s = Shape<start=1, end=2>(x)
          length = Squeeze(s)
          y = DFT(x, length) }""",
        17,
        {},
        {"x": ((2, "n", 1),)},
    ),
    "windows of a padded axis that is rolled": (
        """g (float[b, n, 3] x) => (float y) { size = Shape<start=1, end=2>(x)
          batch = Shape<start=0, end=1>(x)
          over = Mod(size, four)
          missing = Sub(four, over)
          more = Mod(missing, four)
          pads = Concat<axis=0>(zeros, more, zero)
          p = Pad(x, pads)
          whole = Add(size, more)
          cut = Mod(two, whole)
          front = Slice(p, zero, cut, one)
          back = Slice(p, cut, whole, one)
          rolled = Concat<axis=1>(back, front)
          windows = Reshape(rolled, shape)
          w = Softmax<axis=1>(windows)
          count = Div(whole, four)
          apart = Concat<axis=0>(batch, count, four, three)
          grid = Reshape(w, apart)
          y = ReduceMax<axes=[2], keepdims=0>(grid) }""",
        17,
        {
            **{"zero": ints(0), "one": ints(1), "two": ints(2), "three": ints(3), "four": ints(4)},
            **{"zeros": ints(0, 0, 0, 0), "shape": ints(-1, 4, 3)},
        },
        {"x": ((2, "n", 3),)},
    ),
    "maxima and where they stood": (
        """g (float[b, c, h, w] x) => (float y, int64 i, float z, int64 j) {
          y, i = MaxPool<kernel_shape=[3, 2], strides=[2, 1], pads=[2, 0, 0, 1], dilations=[2, 1],
            storage_order=1>(x)
          z, j = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x) }""",
        17,
        {},
        {"x": ((2, 2, "long", "n"),)},
    ),
    "a slice of as many axes as there are bounds": (
        """g (float[n, m] x, int64[k] bounds) => (float y) {
          is_start = Less(bounds, three)
          is_end = Not(is_start)
          starts = Compress<axis=0>(bounds, is_start)
          ends = Compress<axis=0>(bounds, is_end)
          y = Slice(x, starts, ends) }""",
        17,
        {"three": np.int64(3)},
        {"x": ((6, "n"),), "bounds": (ints(1, 5),)},
    ),
    "a spectrogram without the axis of parts": (
        "g (float[b, n] x) => (float y) { y = STFT(x, step, window) }",
        17,
        {"step": np.int64(2), "window": np.hanning(4).astype(np.float32)},
        {"x": ((2, "long"),)},
    ),
    "groups of channels": (
        "g (float[b, 4, h, w] x) => (float y) { y = GroupNormalization<num_groups=2>(x, s, t) }",
        21,
        {"s": floats(4), "t": floats(4)},
        {"x": ((2, 4, "n", "m"),)},
    ),
    "groups of channels of any number": (
        "g (float[b, c, h, w] x) => (float y) { y = GroupNormalization<num_groups=2>(x, s, t) }",
        18,
        {"s": floats(2), "t": floats(2)},
        {"x": ((2, "even", "n", "m"),)},
    ),
    "groups of as many channels as there are scales": (
        "g (float[b, c, h] x) => (float y) { y = GroupNormalization<num_groups=2>(x, s, t) }",
        21,
        {"s": floats(4), "t": floats(4)},
        {"x": (("n", 4, "long"),)},
    ),
    "the first largest": (
        "g (float[b, n] x) => (float y) { y = Hardmax<axis=1>(x) }",
        17,
        {},
        {"x": ((3, "n"),)},
    ),
    "features that only the weights tell": (
        "g (float[t, b, f] x) => (float y) { y = RNN<hidden_size=4>(x, w, r) }",
        17,
        {"w": floats(1, 4, 3), "r": floats(1, 4, 4)},
        {"x": (("n", 2, 3),)},
    ),
    "coordinates of which there must be two": (
        "g (float[b, c, h, w] x, float[b, p, q, d] at) => (float y) { y = GridSample(x, at) }",
        17,
        {},
        {"x": ((2, 2, "n", 5),), "at": ((2, "m", 4, 2),)},
    ),
    "windows added to an image": (
        "g (float[b, c, l] x) => (float y) { y = Col2Im<strides=[2, 2]>(x, image, block) }",
        18,
        {"image": ints(4, 6), "block": ints(2, 2)},
        {"x": (("n", 12, 6),)},
    ),
    "windows added to an image of the sizes of a vector": (
        """g (float[b, c, l] x, int64[2] image) => (float y)
          { y = Col2Im<strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2]>(x, image, block) }""",
        18,
        {"block": ints(2, 3)},
        {"x": (("n", 12, 15),), "image": (ints(6, 8),)},
    ),
    "windows of an image added to it": (
        """g (float[b, 12, l] x, float[b, 2, h, w] like) => (float y) {
          image = Shape<start=2>(like)
          y = Col2Im<strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2]>(x, image, block) }""",
        18,
        {"block": ints(2, 3)},
        {"x": ((2, 12, 15),), "like": ((2, 2, 6, 8),)},
    ),
    "positions of an image of any size": (
        """g (float[b, 2, 3] m, float[b, 3, h, w] like) => (float y, float z) {
          size = Shape(like)
          y = AffineGrid(m, size)
          z = AffineGrid<align_corners=1>(m, size) }""",
        20,
        {},
        {"m": ((2, 2, 3),), "like": ((2, 3, "even", "long"),)},
    ),
    "positions of a volume of the sizes of a vector": (
        "g (float[b, c, d] m, int64[5] size) => (float y) { y = AffineGrid(m, size) }",
        20,
        {},
        {"m": ((2, 3, 4),), "size": (ints(2, 1, 4, 1, 5),)},
    ),
    "diagonals of any length": (
        """g (float[b, n, c, n] x) => (float y, float z) {
          y = Einsum<equation="bici->bci">(x)
          z = Einsum<equation="bici->c">(x) }""",
        17,
        {},
        {"x": (("even", "n", "m", "n"),)},
    ),
    "a diagonal of sizes without a name": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          t = Transpose(k)
          p = MatMul(k, t)
          y = Einsum<equation="ii->i">(p) }""",
        17,
        LIMIT,
        {"x": (("n", 3),)},
    ),
    "channels as blocks of pixels": (
        'g (float[1, c, h, 3] x) => (float y) { y = DepthToSpace<blocksize=2, mode="CRD">(x) }',
        17,
        {},
        {"x": ((1, 8, "n", 3),)},
    ),
    "heads of a width that four divide": (
        """g (float[n, m] x, float[n, m] z) => (float y) { rows = Shape<start=0, end=1>(x)
          columns = Shape<start=1, end=2>(x)
          width = Div(columns, four)
          more = Mul(rows, four)
          shape = Concat<axis=0>(more, width)
          p = Reshape(x, shape)
          q = Reshape(z, shape)
          y = Add(p, q) }""",
        17,
        {"four": ints(4)},
        {"x": (("n", 12),), "z": (("n", 12),)},
    ),
    "the first largest of all rows": (
        "g (float[n, 3] x) => (float y) {"
        + ROWS
        + """
          y = Hardmax<axis=0>(k) }""",
        11,
        LIMIT,
        {"x": (("n", 3),)},
    ),
    "slices without repetition": (
        """g (float[2, n] x) => (float y, int64 f, int64 i, int64 c) { r = Round(x)
          y, f, i, c = Unique<axis=1>(r) }""",
        17,
        {},
        {"x": ((2, "n"),)},
    ),
    "rows written by vectors of any length": (
        "g (float[n, m] x, int64[2, c] i, float[2] u) => (float y) { y = ScatterND(x, i, u) }",
        17,
        {},
        {"x": ((3, "m"),), "i": (np.array([[2, 0], [1, 0]]),), "u": (floats(2),)},
    ),
    "a window of a cache": (
        """g (float[b, s, 3] c, float[b, n, 3] x, int64[b] i) => (float y)
          { y = TensorScatter<mode="circular">(c, x, i) }""",
        24,
        {},
        {"c": ((2, 9, 3),), "x": ((2, "n", 3),), "i": (ints(8, 2),)},
    ),
    "regions": (
        """g (float[b, 2, h, w] x, float[r, 4] boxes, int64[r] i) => (float y) { y = RoiAlign
          <output_height=2, output_width=3, sampling_ratio=2>(x, boxes, i) }""",
        17,
        {},
        {
            "x": ((2, 2, "n", "long"),),
            "boxes": (np.array([[0, 0, 2, 3], [1, -2, 9, 1]], np.float32),),
            "i": (ints(1, 0),),
        },
    ),
    "the larger of two sizes": (
        """g (float[n, m] x) => (float y) { s = Shape(x)
          wanted = Max(s, least)
          behind = Sub(wanted, s)
          pads = Concat<axis=0>(zeros, behind)
          y = Pad(x, pads) }""",
        17,
        {"least": ints(3, 4), "zeros": ints(0, 0)},
        {"x": (("n", "m"),)},
    ),
}

SIZES = (
    {"n": 1, "m": 1, "long": 5, "even": 2},
    {"n": 5, "m": 3, "long": 9, "even": 8},
    {"n": 9, "m": 12, "long": 20, "even": 6},
)


def test_squeeze_without_axes_takes_an_open_size_for_no_one() -> None:
    text = """g (float[n, 1, 3, 1] x) => (float y) { a = Relu(x)
      y = Squeeze(a) }"""
    model = model_of(text, 17, {})
    program = build(from_onnx(model), threads=1)
    for count in (2, 5, 0):
        x = floats(count, 1, 3, 1)
        (expected,) = onnxruntime_outputs(model, {"x": x})
        np.testing.assert_array_equal(program(x), expected)
    with pytest.raises(RelayError, match="y: dyn.reshape"):
        program(floats(1, 1, 3, 1))
    fixed = build(from_onnx(model, shapes={"x": (1, 1, 3, 1)}), threads=1)
    assert fixed(floats(1, 1, 3, 1)).shape == (3,)


def test_a_diagonal_of_sizes_without_names_is_of_a_square() -> None:
    text = (
        "g (float[n, 3] x, float[q, 3] z) => (float y) {"
        + ROWS
        + """
      o = ReduceMax<axes=[1],keepdims=0>(z)
      d = Greater(o, least)
      j = Compress<axis=0>(z, d)
      t = Transpose(j)
      p = MatMul(k, t)
      y = Einsum<equation="ii->i">(p) }"""
    )
    program = build(from_onnx(model_of(text, 17, LIMIT)), threads=1)
    one = np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(program(one, one), [3, 3, 3, 3])
    for rows in (3, 5):
        with pytest.raises(RelayError, match="y: dyn.reshape"):
            program(np.ones((rows, 3), np.float32), one)


@pytest.mark.parametrize("windows", [3, 5, 8])
def test_windows_are_as_many_as_an_image_has(windows: int) -> None:
    text = """g (float[1, 12, l] x, float[1, 2, h, 4] like) => (float y) {
      image = Shape<start=2>(like)
      y = Col2Im<strides=[2, 2]>(x, image, block) }"""
    model = model_of(text, 18, {"block": ints(2, 2)})
    program = build(from_onnx(model), threads=1)
    like = floats(1, 2, 4, 4)
    (expected,) = onnxruntime_outputs(model, {"x": floats(1, 12, 4), "like": like})
    assert program(floats(1, 12, 4), like).shape == expected.shape
    with pytest.raises(RelayError, match="not as many elements|another size on axis"):
        program(floats(1, 12, windows), like)


def test_differences_of_neighbours_also_of_none() -> None:
    text = """g (float[b, n] x) => (float y, float z) { size = Shape<start=1, end=2>(x)
      last = Sub(size, one)
      a = Slice(x, zero, last, one)
      b = Slice(x, one, size, one)
      y = Sub(b, a)
      z = Softmax(a) }"""
    model = model_of(text, 17, {"zero": ints(0), "one": ints(1)})
    program = build(from_onnx(model), threads=1)
    for count in (4, 1, 0):
        x = floats(2, count)
        for actual, expected in zip(program(x), onnxruntime_outputs(model, {"x": x}), strict=True):
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_a_run_tells(name: str) -> None:
    text, opset, weights, inputs = CASES[name]
    model = model_of(text, opset, weights)
    program = build(from_onnx(model), threads=1)
    for sizes in SIZES:
        feeds = {
            each: value
            if isinstance(value, np.ndarray)
            else floats(*(sizes[dim] if isinstance(dim, str) else dim for dim in value))
            for each, (value,) in inputs.items()
        }
        if "least" in weights and weights["least"].ndim == 0:
            feeds["x"][0] = 1  # one row, at least
        found = program(**feeds)
        found = found if isinstance(found, tuple) else (found,)
        for actual, expected in zip(found, onnxruntime_outputs(model, feeds), strict=True):
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_rows_of_a_run_have_a_zero_point_each() -> None:
    model = model_of(
        "g (uint8[m, 5] a, int8[5, n] b, uint8[m] zero) => (int32[m, n] y) {"
        "y = MatMulInteger(a, b, zero) }",
        21,
        {},
    )
    native = build(from_onnx(model))
    for rows, columns in ((1, 1), (4, 7)):
        a, zero = (RANDOM.integers(0, 256, shape) for shape in ((rows, 5), (rows,)))
        b = RANDOM.integers(-128, 128, (5, columns))
        found = native(a.astype(np.uint8), b.astype(np.int8), zero.astype(np.uint8))
        np.testing.assert_array_equal(found, (a - zero[:, None]) @ b)
