"""Annotate, calibrate, realize: what is observed, and what becomes of it."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import attribute, operator_name
from relay_tune.quantization.prepared import prepared
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.compute_in_integers import ComputeInIntegers
from relay_tune.transform.quantize.annotate import Annotate
from relay_tune.transform.quantize.calibrate import Calibrate
from relay_tune.transform.quantize.realize import Realize
from relay_tune.transform.quantize.stored_type import StoredType
from relay_tune.transform.quantize.stored_weights import weight_types
from tests.quantization.networks import IMAGES, bound, images

JOINED = """
def @main(%x: Tensor[(1, 4, 6, 6), float32], %v: Tensor[(4, 4, 1, 1), float32],
          %w: Tensor[(4, 4, 3, 3), float32], %u: Tensor[(4, 8, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %v));
  %1 = nn.relu(nn.conv2d(%x, %w, padding=(1, 1)));
  nn.conv2d(concatenate((%0, %1), axis=1), %u)
}"""
BRANCH = """
def @main(%x: Tensor[(2, 4), float32], %c: bool, %w: Tensor[(3, 4), float32]) {
  if (%c) { nn.dense(%x, %w) } else { zeros(shape=(2, 3), dtype="float32") }
}"""


def observed(module: Module) -> dict[str, Call]:
    nodes = post_order(module.main.body)
    calls = [n for n in nodes if operator_name(n) == "qnn.observe" and isinstance(n, Call)]
    return {attribute(each, "tensor"): each for each in calls}


def test_what_layers_read_is_observed() -> None:
    network = prepared(bound(IMAGES))
    names = observed(Annotate()(network))
    data = [name for name, each in names.items() if attribute(each, "dtype") == "uint8"]
    # bytes in front of the pool, in front of the mean, and the mean
    assert data == ["x", "relu", "relu_2", "relu_3", "mean"]
    assert {name: attribute(names[name], "axis") for name in names if name.endswith(".weight")} == {
        "conv2d.weight": 0,
        "conv2d_2.weight": 0,
        "conv2d_3.weight": 0,
        "dense.weight": 0,
    }
    bias = names["conv2d_3.bias"]
    assert attribute(bias, "factors") == ("relu_2", "conv2d_3.weight")


def test_layers_that_are_kept_leave_no_trace() -> None:
    network = prepared(bound(IMAGES))
    kept = Annotate(keep=frozenset({"conv2d", "conv2d_2", "conv2d_3", "dense"}))(network)
    assert not observed(kept)
    names = observed(Annotate(keep=frozenset({"conv2d", "conv2d_2", "dense"}))(network))
    assert set(names) == {"relu_2", "conv2d_3.weight", "conv2d_3.bias"}


def test_names_are_those_of_the_whole_network_whatever_is_kept() -> None:
    network = prepared(bound(IMAGES))
    whole = observed(Annotate()(network))
    for layer in ("conv2d", "conv2d_2", "conv2d_3", "dense"):
        for name, each in observed(Annotate(keep=frozenset({layer}))(network)).items():
            assert rt.structural_equal(each.arguments[0].type, whole[name].arguments[0].type)
            assert attribute(each, "factors") == attribute(whole[name], "factors")


def test_joined_tensors_share_a_scale() -> None:
    calls = [
        node
        for node in post_order(Annotate()(bound(JOINED)).main.body)
        if operator_name(node) == "qnn.observe" and attribute(node, "dtype") == "uint8"
    ]
    assert [attribute(each, "tensor") for each in calls] == ["x", "relu", "relu"]


def test_a_layer_of_a_branch_stays_in_float32() -> None:
    assert not observed(Annotate()(bound(BRANCH, free=("x", "c"))))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_the_result_computes_in_integers_what_calibration_said(dtype: str) -> None:
    annotated = Annotate(dtype)(prepared(bound(IMAGES)))
    names = [n for n, e in observed(annotated).items() if attribute(e, "dtype") == dtype]
    data = {name: StoredType.of_range(dtype, -3.0, 3.0) for name in names}
    data = {n: e for n, e in data.items() if not n.endswith(".weight")}
    calibrated = Calibrate({**data, **weight_types(annotated, data)})(annotated)
    realized = Realize()(calibrated)
    constants = [n.data for n in post_order(realized.main.body) if isinstance(n, Constant)]
    assert sum(each.dtype == np.int8 and each.ndim > 1 for each in constants) == 4
    in_integers = ComputeInIntegers("always")(realized)
    assert in_integers.astext(show_weights=False).count('out_dtype="int32"') == 4
    for x in images(2):
        expected = rt.interpret(calibrated, x)
        assert np.array_equal(rt.interpret(realized, x), expected)
        np.testing.assert_allclose(rt.interpret(in_integers, x), expected, atol=2e-2)


def test_a_tensor_without_a_type_is_an_error() -> None:
    with pytest.raises(InputError, match="No scale is known for the tensor 'x'"):
        Calibrate()(Annotate()(bound(JOINED)))


def test_scales_of_odd_channels() -> None:
    weight = np.array([[0, 0], [1e-38, 0], [1, -2], [3e38, 1]], "float32")
    text = "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(4, 2), float32], " + (
        "%b: Tensor[(4), float32]) { nn.bias_add(nn.dense(%x, %w), %b) }"
    )
    module = rt.infer_types(rt.parse(text))
    values = {"w": weight, "b": np.array([1, 100, 0, -1], "float32")}
    network = rt.infer_types(BindParameters(values)(module))
    annotated = Annotate()(network)
    data = {"x": StoredType.of_range("uint8", -1, 1)}
    (stored,) = weight_types(annotated, data).values()
    assert (stored.scale > 0).all() and np.isfinite(stored.scale).all()
    realized = Realize()(Calibrate({**data, "dense.weight": stored})(annotated))
    x = np.array([[0.5, -0.25]], "float32")
    found, expected = rt.interpret(realized, x), rt.interpret(network, x)
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02)


def test_small_data_of_one_layer_leave_the_weights_of_others() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], " + (
        "%v: Tensor[(2, 4), float32]) { nn.dense(nn.dense(%x, %w), %v) }"
    )
    rng = np.random.default_rng(0)
    weight = rng.uniform(-1e-30, 1e-30, (4, 3)).astype("float32")
    values = {"w": weight, "v": rng.uniform(-1, 1, (2, 4)).astype("float32")}
    network = rt.infer_types(BindParameters(values)(rt.infer_types(rt.parse(text))))
    annotated = Annotate()(network)
    x, result = (name for name in observed(annotated) if not name.endswith(".weight"))
    ranges = {x: 1.0, result: 1e-30}
    data = {name: StoredType.of_range("uint8", -most, most) for name, most in ranges.items()}
    most = np.abs(weight).max(axis=1)
    scales = [stored.scale for stored in weight_types(annotated, data).values()]
    np.testing.assert_allclose(scales[0], most / 127, rtol=1e-6)
