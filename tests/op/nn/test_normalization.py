from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.normalization import group_norm, instance_norm, layer_norm


def _vectors(random_array, size, dtype="float32"):
    return [random_array((size,), dtype), random_array((size,), dtype)]


@pytest.mark.parametrize("shape", [(3, 7), (2, 3, 8), (1, 1, 4)])
def test_layer_norm_agrees_with_onnxruntime(check_record, run_onnx, random_array, shape):
    arrays = [random_array(shape) + 5, *_vectors(random_array, shape[-1])]
    found = check_record(layer_norm, arrays, {"epsilon": 1e-3}, 1e-4)
    expected = run_onnx("LayerNormalization", arrays, {"axis": -1, "epsilon": 1e-3})
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_layer_norm_of_an_inner_axis(check_record, random_array):
    arrays = [random_array((2, 5, 3)), *_vectors(random_array, 5)]
    moved = [arrays[0].swapaxes(1, 2).copy(), *arrays[1:]]
    found = check_record(layer_norm, arrays, {"axis": 1}, 1e-4)
    np.testing.assert_allclose(
        found.swapaxes(1, 2), check_record(layer_norm, moved, {}, 1e-4), 1e-4, 1e-5
    )


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5), (1, 2, 3, 2, 2)])
def test_instance_norm_agrees_with_onnxruntime(check_record, run_onnx, random_array, shape):
    arrays = [random_array(shape) + 5, *_vectors(random_array, shape[1])]
    found = check_record(instance_norm, arrays, {"epsilon": 1e-3}, 1e-4)
    expected = run_onnx("InstanceNormalization", arrays, {"epsilon": 1e-3})
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm_agrees_with_onnxruntime(check_record, run_onnx, random_array, groups):
    arrays = [random_array((2, 6, 3, 4)), *_vectors(random_array, 6)]
    found = check_record(group_norm, arrays, {"num_groups": groups}, 1e-4)
    expected = run_onnx("GroupNormalization", arrays, {"num_groups": groups}, 21)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("operator", [instance_norm, layer_norm])
def test_gamma_and_beta_are_left_out_on_demand(check_record, random_array, operator):
    arrays = [random_array((2, 3, 4)), *_vectors(random_array, 3)]
    plain = [arrays[0], np.ones(3, "float32"), np.zeros(3, "float32")]
    attributes = {"axis": 1}
    found = check_record(operator, arrays, {**attributes, "center": False, "scale": False})
    np.testing.assert_allclose(found, check_record(operator, plain, attributes), 1e-5, 1e-6)


def test_a_large_mean_does_not_spoil_the_variance(check_record, random_array):
    data = random_array((1, 1000)) + np.float32(1e4)
    arrays = [data, np.ones(1000, "float32"), np.zeros(1000, "float32")]
    found = check_record(layer_norm, arrays, {}, 1e-2)
    assert abs(found.std() - 1) < 1e-2


@pytest.mark.parametrize("first", [0.0, 1.0, 1e4])
def test_a_first_element_far_from_the_others_does_not_spoil_the_variance(
    check_record, random_array, first
):
    data = random_array((4, 1000))
    data[:, 0] += np.float32(first)
    arrays = [data, np.ones(1000, "float32"), np.zeros(1000, "float32")]
    found = check_record(layer_norm, arrays, {}, 1e-5)
    wide = data.astype("float64")
    distance = wide - wide.mean(-1, keepdims=True)
    expected = distance / np.sqrt(np.square(distance).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_short_floats_are_summed_in_float32(check_record):
    data = np.full((1, 4096), 40, "float16")
    arrays = [data, np.ones(4096, "float16"), np.zeros(4096, "float16")]
    assert (check_record(layer_norm, arrays) == 0).all()
