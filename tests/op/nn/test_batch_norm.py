from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType
from relay_tune.op.nn.batch_norm import batch_norm


def _value(expr: Expr):
    """The value of a small expression of constants, by the references of its operators."""
    match expr:
        case Constant():
            return expr.data
        case Tuple():
            return tuple(_value(field) for field in expr.fields)
        case Call(callee=Operator() as operator):
            return operator.reference(expr.attributes, *map(_value, expr.arguments))
    raise AssertionError(expr)


def _arrays(random_array, shape, axis):
    channels = shape[axis]
    vectors = [random_array((channels,)) for _ in range(3)]
    return [random_array(shape), *vectors, np.abs(random_array((channels,))) + 0.1]


@pytest.mark.parametrize("shape, axis", [((2, 3, 4, 5), 1), ((2, 3, 4, 5), 3), ((2, 3), -1)])
@pytest.mark.parametrize("center, scale", [(True, True), (False, False)])
def test_the_composition_means_the_same(random_array, shape, axis, center, scale):
    arrays = _arrays(random_array, shape, axis)
    record = batch_norm.attributes(axis=axis, epsilon=1e-3, center=center, scale=scale)
    types = [TensorType(array.shape, "float32") for array in arrays]
    composed = batch_norm.composition(record, [Constant(array) for array in arrays], types)
    found, mean, variance = _value(composed)
    expected = batch_norm.reference(record, *arrays)
    np.testing.assert_allclose(found, expected[0], 1e-4, 1e-5)
    np.testing.assert_array_equal(mean, arrays[3])
    np.testing.assert_array_equal(variance, arrays[4])


@pytest.mark.parametrize("shape, axis", [((4, 3, 4, 5), 1), ((2, 3, 4, 5), 3), ((6, 3), -1)])
@pytest.mark.parametrize("center, scale", [(True, True), (False, False)])
def test_training_normalises_by_the_statistics_of_the_data(
    random_array, shape, axis, center, scale
):
    arrays = _arrays(random_array, shape, axis)
    record = batch_norm.attributes(axis=axis, center=center, scale=scale, training=True)
    types = [TensorType(array.shape, "float32") for array in arrays]
    composed = batch_norm.composition(record, [Constant(array) for array in arrays], types)
    axes = tuple(each for each in range(len(shape)) if each != axis % len(shape))
    mean, variance = arrays[0].mean(axes), arrays[0].var(axes)
    inference = batch_norm.attributes(axis=axis, center=center, scale=scale)
    normal = batch_norm.reference(inference, *arrays[:3], mean, variance)[0]
    for found in (_value(composed), batch_norm.reference(record, *arrays)):
        np.testing.assert_allclose(found[0], normal, 1e-4, 1e-4)
        np.testing.assert_allclose(found[1], mean, 1e-4, 1e-5)
        np.testing.assert_allclose(found[2], variance, 1e-4, 1e-5)


def test_the_reference_agrees_with_onnxruntime(run_onnx, random_array):
    arrays = _arrays(random_array, (2, 3, 4, 5), 1)
    found = batch_norm.reference(batch_norm.attributes(epsilon=1e-3), *arrays)
    expected = run_onnx("BatchNormalization", arrays, {"epsilon": 1e-3})
    np.testing.assert_allclose(found[0], expected, 1e-4, 1e-5)
