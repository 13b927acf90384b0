"""Whether two answers of a program are the same, up to how floats are rounded."""

from __future__ import annotations

import numpy as np

from relay_tune.runtime.interpreter.values import ConstructorValue

TOLERANCE = 1e-4
RELATIVE_TOLERANCE = 1e-5
"""Of large numbers: a sum of thousands rounds otherwise in another order of its terms."""


def assert_same_value(found: object, expected: object, where: str = "answer") -> None:
    """Tensors agree in shape, dtype and numbers; tuples and data by their parts."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected), where
        for index, (part, other) in enumerate(zip(found, expected, strict=True)):
            assert_same_value(part, other, f"{where}.{index}")
    elif isinstance(expected, ConstructorValue):
        assert isinstance(found, ConstructorValue), where
        assert found.constructor.name == expected.constructor.name, where
        assert_same_value(found.fields, expected.fields, f"{where}.{found.constructor.name}")
    else:
        assert isinstance(found, np.ndarray) and isinstance(expected, np.ndarray), where
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        np.testing.assert_allclose(
            found, expected, rtol=RELATIVE_TOLERANCE, atol=TOLERANCE, err_msg=where
        )
