from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, decoded_values, rounding
from relay_tune.onnx_backend import Backend

FLOATS = [kind for kind in NARROW_TYPES.values() if kind.is_float and kind.name != "float8e8m0"]
INTEGERS = [number for number, kind in NARROW_TYPES.items() if not kind.is_float]


def model_of(text: str, weights: list[onnx.TensorProto] | None = None) -> onnx.ModelProto:
    header = '<ir_version: 11, opset_import: ["": 23]>'
    model = onnx.parser.parse_model(f"{header} g {text}")
    model.graph.initializer.extend(weights or [])
    return model


def awkward_numbers() -> np.ndarray:
    """Numbers of all sizes, those between two steps included."""
    random = np.random.default_rng(1)
    spread = random.standard_normal(4000) * 2.0 ** random.integers(-20, 20, 4000)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 464.0, 61440.0, 448.0, 3.5, 0.25, 1e-9]
    return np.concatenate([spread, special, -np.array(special)]).astype(np.float32)


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
def test_tables_round_as_casts_do(kind: Any, saturate: bool) -> None:
    values = np.concatenate([awkward_numbers(), decoded_values(kind)])
    table = rounding(kind, saturate, "up")
    index = np.searchsorted(table.thresholds, np.abs(values), side="right")
    index += np.signbit(values) * (len(table.thresholds) + 1)
    codes = table.codes[np.where(np.isnan(values), len(table.codes) - 1, index)]
    largest = decoded_values(kind)
    limit = np.abs(largest[np.isfinite(largest)]).max()
    with np.errstate(all="ignore"):
        wanted = (np.clip(values, -limit, limit) if saturate else values).astype(kind.dtype)
    found = codes.view(kind.dtype).astype(np.float32)
    np.testing.assert_array_equal(found, wanted.astype(np.float32))
    numbers = ~np.isnan(found) & ~np.isnan(values)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted)[numbers])


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_are_cut_to_their_bits(number: int) -> None:
    kind = NARROW_TYPES[number]
    model = model_of(f"(int32[9] x) => ({kind.name}[9] y) {{ y = Cast<to = {number}>(x) }}")
    x = np.arange(-4, 5, dtype=np.int32) * 3
    (y,) = Backend.run_model(model, [x])
    assert y.dtype == kind.dtype
    np.testing.assert_array_equal(y.astype(np.int32), x.astype(kind.dtype).astype(np.int32))


@pytest.mark.parametrize("raw", [True, False])
def test_weights_of_four_bits_are_unpacked(raw: bool) -> None:
    values = np.array([[-8, 7, -1], [3, 0, 5]], np.int8)
    packed = helper.make_tensor("w", TensorProto.INT4, [2, 3], values.reshape(-1))
    if raw:
        packed = numpy_helper.from_array(numpy_helper.to_array(packed), "w")
    model = model_of(
        """(float[2] scale) => (float[2, 3] y) {
            turned = Transpose<perm = [1, 0]>(w)
            z = DequantizeLinear<axis = 1>(turned, scale)
            y = Transpose<perm = [1, 0]>(z)
        }""",
        [packed],
    )
    scale = np.array([0.5, 2.0], np.float32)
    (y,) = Backend.run_model(model, [scale])
    np.testing.assert_array_equal(y, values * scale[:, None])


def test_inputs_and_outputs_may_be_narrow() -> None:
    number = TensorProto.FLOAT8E5M2
    model = model_of(
        """(float8e5m2[4] x) => (float8e5m2[2, 2] y, float[4] z) {
            shape = Constant<value_ints = [2, 2]>()
            y = Reshape(x, shape)
            z = Cast<to = 1>(x)
        }"""
    )
    x = np.array([1.5, -0.0, 96.0, -np.inf], np.float32).astype(NARROW_TYPES[number].dtype)
    y, z = Backend.run_model(model, [x])
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32).reshape(2, 2))
    np.testing.assert_array_equal(z, x.astype(np.float32))


def test_computing_with_them_is_refused_by_name() -> None:
    model = model_of("(int4[4] x) => (int4[4] y) { y = Add(x, x) }")
    with pytest.raises(UnsupportedOperatorError, match="Add of int4"):
        from_onnx(model)


def test_control_flow_does_not_carry_them() -> None:
    model = model_of(
        """(bool c, float8e5m2[4] x) => (float8e5m2[4] y) {
            y = If (c) <then_branch = t () => (float8e5m2[4] a) { a = Identity(x) },
                        else_branch = e () => (float8e5m2[4] b) { b = Identity(x) }>
        }"""
    )
    with pytest.raises(UnsupportedOperatorError, match="float8e5m2"):
        from_onnx(model)


def test_a_cast_to_the_type_of_storage_is_no_longer_narrow() -> None:
    model = model_of("(int4[3] x) => (int8[3] y) { wide = Cast<to = 3>(x)  y = Add(wide, wide) }")
    (y,) = Backend.run_model(model, [np.array([-8, 7, 1])])
    np.testing.assert_array_equal(y, [-16, 14, 2])
