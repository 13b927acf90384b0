"""Optimisers and schedules refuse numbers with which nothing is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from tests.training.network import batch, network, weights

T: Any = rt.training

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: T.SGD(-0.1), "rate of SGD is -0.1, but must be a number that is not negative"),
    (lambda: T.SGD(float("nan")), "rate of SGD is nan"),
    (lambda: T.SGD("0.1"), "rate of SGD must be a number"),
    (lambda: T.SGD(T.Cosine), "rate of SGD must be a number"),
    (lambda: T.SGD(0.1, momentum=1.0), "momentum of SGD is 1.0, but must be a number from 0"),
    (lambda: T.SGD(0.1, decay=-1), "decay of SGD is -1"),
    (lambda: T.Adam(second=1.5), "second of Adam is 1.5"),
    (lambda: T.Adam(epsilon=0), "epsilon of Adam is 0, but must be a number above 0"),
    (lambda: T.AdamW(-1e-3), "rate of AdamW is -0.001"),
    (lambda: T.RMSprop(kept=2.0), "kept of RMSprop is 2.0"),
    (lambda: T.Cosine(-1.0, steps=3), "rate of Cosine is -1.0"),
    (lambda: T.Cosine(1.0, steps=0), "steps of Cosine"),
    (lambda: T.Steps(0.1, 5), "at_steps of Steps must be a sequence"),
    (lambda: T.Steps(0.1, [-1]), "A step of at_steps"),
    (lambda: T.Warmup(10, 0.1), "after of Warmup must be a schedule"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_numbers_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(rt.InputError, match=message):
        make()


def test_numbers_of_numpy_are_numbers() -> None:
    trained = []
    for rate in (0.125, np.float32(0.125)):
        step = T.step(network(), optimiser=T.SGD(rate), parameters=weights(), threads=1)
        step(*batch(0))
        trained.append(step.parameters["w"])
    np.testing.assert_array_equal(*trained)
