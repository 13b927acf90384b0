"""Support vector machines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.errors import ModelError

Check = Callable[..., None]

RANDOM = np.random.default_rng(5)
ROWS = RANDOM.standard_normal((40, 4)).astype(np.float32)
VECTORS = RANDOM.standard_normal((9, 4)).astype(np.float32)

KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


def classifier(sizes: list[int], **others: object) -> dict[str, object]:
    """Attributes of a classifier with so many support vectors in each class."""
    classes, count = len(sizes), sum(sizes)
    draws = np.random.default_rng(classes)
    attributes: dict[str, object] = {
        "kernel_type": "RBF",
        "kernel_params": [0.3, 0.2, 2.0],
        "coefficients": draws.standard_normal((classes - 1) * count).round(2).tolist(),
        "support_vectors": VECTORS[:count].ravel().tolist(),
        "vectors_per_class": sizes,
        "rho": draws.standard_normal(classes * (classes - 1) // 2).round(2).tolist(),
        "classlabels_ints": [7, 3, 5, 11][:classes],
    }
    return {**attributes, **others}


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vectors(check_classical: Check, kernel: str, one_class: int) -> None:
    check_classical(
        "SVMRegressor",
        ROWS,
        kernel_type=kernel,
        kernel_params=[0.3, 0.2, 2.0],
        coefficients=[0.4, -0.5, 0.6],
        support_vectors=VECTORS[:3].ravel().tolist(),
        n_supports=3,
        rho=[0.05],
        one_class=one_class,
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sizes", [[3, 2], [2, 4, 3], [1, 2, 3, 2]])
def test_classes_win_pairs(check_classical: Check, kernel: str, sizes: list[int]) -> None:
    check_classical("SVMClassifier", ROWS, outputs=2, **classifier(sizes, kernel_type=kernel))


@pytest.mark.parametrize("transform", ["LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("sizes", [[3, 2], [2, 4, 3]])
def test_scores_of_pairs(check_classical: Check, transform: str, sizes: list[int]) -> None:
    check_classical("SVMClassifier", ROWS, outputs=2, **classifier(sizes, post_transform=transform))


def test_decision_of_zero_is_for_the_second_class(check_classical: Check) -> None:
    nothing = classifier([3, 2], coefficients=[0.0] * 5, rho=[0.0])
    check_classical("SVMClassifier", ROWS, outputs=2, **nothing)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_examples_of_other_types(check_classical: Check, dtype: type) -> None:
    check_classical("SVMClassifier", (ROWS * 3).astype(dtype), outputs=2, **classifier([2, 4, 3]))


def test_classes_without_vectors(check_classical: Check) -> None:
    check_classical(
        "SVMClassifier",
        ROWS,
        outputs=2,
        coefficients=VECTORS[:3].ravel().tolist(),
        kernel_params=[0.0, 0.0, 0.0],
        rho=[0.25],
        classlabels_ints=[4, 0, 9],
    )


@pytest.mark.parametrize("sizes", [[3, 2], [2, 4, 3], [1, 2, 3, 2]])
def test_probabilities_are_coupled(check_classical: Check, sizes: list[int]) -> None:
    """Each example by itself: rows stop after different numbers of rounds."""
    count = len(sizes) * (len(sizes) - 1) // 2
    scaled = {
        "prob_a": [-2.5, -1.1, -0.4, -3.0, -0.2, -1.5],
        "prob_b": [0.1, -0.3, 0.0, 0.4, 0.2, 1.0],
    }
    likely = classifier(sizes, **{name: each[:count] for name, each in scaled.items()})
    check_classical("SVMClassifier", 2 * ROWS, outputs=2, **likely)


def test_certain_pairs_are_coupled(check_classical: Check) -> None:
    certain = classifier([2, 4, 3], prob_a=[-400.0, -300.0, 500.0], prob_b=[0.0, 3.0, 1.0])
    check_classical("SVMClassifier", 2 * ROWS, outputs=2, **certain)


def test_attributes_that_do_not_fit(check_classical: Check) -> None:
    with pytest.raises(ModelError, match="rho has 2 numbers for 3 pairs"):
        check_classical("SVMClassifier", ROWS, outputs=2, **classifier([2, 4, 3], rho=[0.1, 0.2]))
    with pytest.raises(ModelError, match="are not those of 9 support vectors of 4 in 3 classes"):
        check_classical(
            "SVMClassifier", ROWS, outputs=2, **classifier([2, 4, 3], coefficients=[1.0])
        )
