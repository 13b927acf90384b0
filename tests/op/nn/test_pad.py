from __future__ import annotations

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.op.nn.pad import mirror_pad, pad
from relay_tune.tensor.expression import Literal, Select, literal
from relay_tune.tensor.tensor import compute, input_tensor

WIDTHS = [
    ((0, 0), (1, 2)),
    ((2, 0), (0, 1)),
    ((-1, 1), (2, -2)),
    ((0, 0), (7, 9)),
    ((0, 0), (0, 0)),
]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_agrees_with_onnxruntime(check_record, run_onnx, random_array, mode, widths):
    data, value = random_array((3, 4)), np.asarray(1.5, "float32")
    found = check_record(pad, [data, value], {"pad_width": widths, "pad_mode": mode})
    pads = np.array([width[0] for width in widths] + [width[1] for width in widths], "int64")
    if mode != "constant" and (min(pads) < 0 or mode == "reflect" and max(pads) > 3):
        return  # onnxruntime refuses these
    expected = run_onnx("Pad", [data, pads, value], {"mode": mode}, 19)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["SYMMETRIC", "REFLECT"])
@pytest.mark.parametrize("widths", [((1, 2), (3, 1)), ((5, 9), (0, 0))])
def test_mirror_pad(check_record, random_array, mode, widths):
    data = random_array((3, 4))
    found = check_record(mirror_pad, [data], {"pad_width": widths, "mode": mode})
    np.testing.assert_array_equal(found, np.pad(data, widths, mode=mode.lower()))


def test_an_axis_of_one_element_is_repeated(check_record):
    data = np.array([[3.0]], "float32")
    found = check_record(mirror_pad, [data], {"pad_width": ((0, 0), (2, 1)), "mode": "REFLECT"})
    np.testing.assert_array_equal(found, [[3, 3, 3, 3]])


def test_pad_of_integers(check_record, random_array):
    arrays = [random_array((2, 3), "int8"), np.asarray(-7, "int8")]
    found = check_record(pad, arrays, {"pad_width": ((1, 0), (0, 1))})
    assert found[0, 0] == -7


def test_a_constant_border_becomes_a_literal():
    data = input_tensor("x", (3,), "float32")
    value = compute("constant", (), lambda: literal(2.0, "float32"))
    record = pad.attributes(pad_width=((1, 1),))
    (result,) = pad.compute(record, [data, value], [TensorType((5,), "float32")])
    assert isinstance(result.body, Select) and isinstance(result.body.if_false, Literal)


def test_an_unknown_mode_is_an_error(random_array):
    record = pad.attributes(pad_width=((1, 1),), pad_mode="mirror")
    with pytest.raises(InputError, match="mirror"):
        pad.reference(record, random_array((3,)), np.float32(0))
