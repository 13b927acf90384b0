import numpy as np
import pytest

from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import TensorType
from relay_tune.op.composites import logsumexp, mean_std, mean_variance, std
from relay_tune.op.lower import lower_function
from relay_tune.tensor.evaluate import evaluate
from relay_tune.typing.infer import infer_expr

DATA = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("float32")
AXES = [None, 1, (0, 2)]


def run(function, data, **attributes):
    x = Var("x", TensorType(data.shape, "float32"))
    program = lower_function(infer_expr(Function((x,), function(x, **attributes))))
    return evaluate(program.outputs, {program.inputs[0]: data})


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("axis", AXES)
def test_moments(axis, keepdims):
    expected = [f(DATA, axis=axis, keepdims=keepdims) for f in (np.mean, np.var, np.std)]
    for function, wanted in [
        (mean_variance, expected[:2]),
        (mean_std, [expected[0], expected[2]]),
        (std, [expected[2]]),
    ]:
        for found, value in zip(
            run(function, DATA, axis=axis, keepdims=keepdims), wanted, strict=True
        ):
            assert found.shape == value.shape
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("axis", AXES)
def test_logsumexp_of_large_numbers(axis, keepdims):
    data = DATA * 10 + 200
    (found,) = run(logsumexp, data, axis=axis, keepdims=keepdims)
    wide = np.exp(data.astype("float64"))
    expected = np.log(wide.sum(axis=axis, keepdims=keepdims))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5)
