from __future__ import annotations

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.op.nn.loss import cross_entropy, cross_entropy_with_logits, nll_loss


def _probabilities(random_array, shape):
    values = np.exp(random_array(shape))
    return values / values.sum(axis=1, keepdims=True)


def test_cross_entropy(check_record, random_array):
    predictions, targets = (_probabilities(random_array, (3, 5)) for _ in range(2))
    found = check_record(cross_entropy, [predictions, targets])
    logs = np.log(predictions)
    np.testing.assert_allclose(found, -(logs * targets).sum() / 3, 1e-5)
    from_logs = check_record(cross_entropy_with_logits, [logs, targets])
    np.testing.assert_allclose(from_logs, found, 1e-5)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 2, 5)])
def test_nll_loss_agrees_with_onnxruntime(check_record, run_onnx, random_array, reduction, shape):
    predictions = np.log(_probabilities(random_array, shape))
    targets = np.random.default_rng(1).integers(0, 4, (shape[0], *shape[2:]))
    weights = np.abs(random_array((4,)))
    arrays = [predictions, targets, weights]
    found = check_record(nll_loss, arrays, {"reduction": reduction, "ignore_index": 2})
    expected = run_onnx(
        "NegativeLogLikelihoodLoss", arrays, {"reduction": reduction, "ignore_index": 2}
    )
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


def test_an_ignored_target_may_be_no_class(check_record, random_array):
    arrays = [random_array((2, 3)), np.array([1, -100]), np.ones(3, "float32")]
    found = check_record(nll_loss, arrays, {"reduction": "none"})
    assert found[1] == 0


def test_an_ignored_class_has_no_loss_whatever_its_prediction_is(check_record):
    predictions = np.array([[-np.inf, -1], [-2, np.nan]], "float32")
    arrays = [predictions, np.array([-100, 0], "int32"), np.ones(2, "float32")]
    assert check_record(nll_loss, arrays, {"reduction": "mean"}) == 2


def test_an_unknown_reduction_is_an_error(random_array):
    arrays = [random_array((2, 3)), np.array([1, 0]), np.ones(3, "float32")]
    with pytest.raises(InputError, match="most"):
        nll_loss.reference(nll_loss.attributes(reduction="most"), *arrays)
