"""rt.checkpoint: functions in Python that derivatives compute again."""

import tracemalloc

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError

STATE = "Tensor[(65536), float32]"


@rt.relay
def steps(x: STATE, w: STATE, n: int):
    for _ in range(n):
        x = np.tanh(x * w)
    return x


@rt.checkpoint
@rt.relay
def segment(x: STATE, w: STATE, n: int):
    for _ in range(n):
        x = np.tanh(x * w)
    return x


@rt.relay
def whole(x: STATE, w: STATE, n: int):
    return np.sum(steps(x, w, n))


@rt.relay
def divided(x: STATE, w: STATE, count: int, n: int):
    for _ in range(count):
        x = segment(x, w, n)
    return np.sum(x)


def test_a_loop_in_segments_keeps_the_square_root() -> None:
    state, weight = np.linspace(-1, 1, 65536).astype("float32"), np.full(65536, 0.9, "float32")
    found, peaks = [], []
    for loss, lengths in ((whole, (64,)), (divided, (8, 8))):
        module = rt.grad(loss, wrt=["x"])
        tracemalloc.start()
        found += rt.interpret(module, state, weight, *map(np.int32, lengths))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    np.testing.assert_array_equal(*found)
    assert found[0].any() and peaks[1] < 0.5 * peaks[0]


def test_it_decorates_programs() -> None:
    with pytest.raises(InputError, match="What checkpoint decorates must be") as error:
        rt.checkpoint(np.tanh)  # type: ignore[arg-type]
    assert "Write @rt.relay below it" in str(error.value)
