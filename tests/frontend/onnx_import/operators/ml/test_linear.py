"""Linear models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.errors import UnsupportedOperatorError

Check = Callable[..., None]

RANDOM = np.random.default_rng(5)
ROWS = RANDOM.standard_normal((6, 4)).astype(np.float32)
WEIGHTS = RANDOM.standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_linear_models(check_classical: Check, transform: str) -> None:
    three = {"coefficients": WEIGHTS.ravel().tolist(), "intercepts": [0.1, 0.2, 0.3]}
    three["post_transform"] = transform
    check_classical("LinearRegressor", ROWS, targets=3, **three)
    check_classical("LinearClassifier", ROWS, outputs=2, classlabels_ints=[4, 7, 2], **three)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_one_score_for_two_classes(check_classical: Check, transform: str) -> None:
    options = {"coefficients": WEIGHTS[0].tolist(), "intercepts": [0.1]}
    labels = {"classlabels_ints": [3, 8], "post_transform": transform}
    check_classical("LinearClassifier", ROWS, outputs=2, **options, **labels)


def test_names_of_classes_are_refused(check_classical: Check) -> None:
    options = {"coefficients": WEIGHTS[:2].ravel().tolist(), "intercepts": [0.1, 0.2]}
    with pytest.raises(UnsupportedOperatorError, match="labels of classes that are strings"):
        check_classical(
            "LinearClassifier", ROWS, outputs=2, classlabels_strings=["a", "b"], **options
        )
