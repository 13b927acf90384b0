"""Results into arrays of the caller."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.executable import Executable

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  (nn.dense(%x, %w), sum(%x, axis=[1]))
}
"""
OPEN = "def @main(%x: Tensor[(n, 8), float32]) { nn.relu(%x) }"


@pytest.fixture(scope="module", params=["built", "loaded"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Executable:
    built = rt.build(rt.parse(TEXT), threads=1)
    if request.param == "built":
        assert isinstance(built, Executable)
        return built
    path: Path = tmp_path_factory.mktemp("library") / "model.so"
    built.export(path)
    loaded = rt.load(path)
    assert isinstance(loaded, Executable)
    return loaded


def arrays(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.random((4, 8), np.float32), random.random((16, 8), np.float32)


def test_results_are_in_the_given_arrays(model: Executable) -> None:
    x, w = arrays()
    first, second = np.full((4, 16), np.nan, np.float32), np.full(4, np.nan, np.float32)
    found = model(x, w, out=[first, second])
    assert found[0] is first and found[1] is second
    np.testing.assert_allclose(first, x @ w.T, rtol=1e-5)
    np.testing.assert_allclose(second, x.sum(axis=1), rtol=1e-5)
    again = model.run({"x": x, "w": w}, out=(first, second))
    assert again[0] is first


def test_views_and_transposed_arrays_are_filled_too(model: Executable) -> None:
    x, w = arrays(1)
    whole = np.zeros((32, 4), np.float32)
    room = whole[::2].T
    model(x, w, out=[room, np.zeros((8,), np.float32)[::2]])
    np.testing.assert_allclose(whole[::2], (x @ w.T).T, rtol=1e-5)
    assert not whole[1::2].any()


def test_results_may_take_the_place_of_inputs_and_of_each_other(model: Executable) -> None:
    x, w = arrays(2)
    expected = x @ w.T
    memory = np.zeros(64 + 32, np.float32)
    inside = memory[:32].reshape(4, 8)
    inside[...] = x
    room = memory[:64].reshape(4, 16)
    model(inside, w, out=[room, np.empty(4, np.float32)])
    np.testing.assert_allclose(room, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "out, message",
    [
        (np.empty((4, 16), np.float32), "2 outputs, but 1 arrays"),
        ([np.empty((4, 15), np.float32), np.empty(4, np.float32)], "must be Tensor"),
        ([np.empty((4, 16)), np.empty(4, np.float32)], "float64"),
        ([[1.0], np.empty(4, np.float32)], "a value of type list"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(model: Executable, out: object, message: str) -> None:
    with pytest.raises(rt.InputError, match=message):
        model(*arrays(), out=out)


def test_a_read_only_array_is_refused(model: Executable) -> None:
    fixed = np.zeros((4, 16), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(rt.InputError, match="read-only"):
        model(*arrays(), out=[fixed, np.zeros(4, np.float32)])


@pytest.mark.parametrize("special", [False, True])
def test_open_sizes(special: bool) -> None:
    model = rt.build(rt.parse(OPEN), threads=1)
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    if special:
        model.specialize(x)
    room = np.empty((3, 8), np.float32)
    assert model(x, out=room) is room
    np.testing.assert_array_equal(room, np.maximum(x, 0))
    with pytest.raises(rt.InputError, match="must be Tensor"):
        model(x, out=np.empty((4, 8), np.float32))


def test_calls_from_threads_fill_their_own_arrays(model: Executable) -> None:
    failures: list[int] = []

    def work(seed: int) -> None:
        x, w = arrays(seed)
        rooms = [np.empty((4, 16), np.float32), np.empty(4, np.float32)]
        for _ in range(50):
            model(x, w, out=rooms)
            if not np.allclose(rooms[0], x @ w.T, rtol=1e-4):
                failures.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
