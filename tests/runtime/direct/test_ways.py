"""Every kind of program that Python can call is called directly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.load import load
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.model import Model
from relay_tune.runtime.native_calls import NativeCalls

pytestmark = [
    pytest.mark.skipif(not can_call_directly(), reason="needs CPython's objects"),
]

OPEN = """
def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(n), float32]) {
  (%x + %x, sum(%x, axis=[0]), concatenate((%y, %y), axis=0))
}
"""
FIXED = """
def @main(%x: Tensor[(5, 3), float32], %y: Tensor[(5), float32]) {
  (%x + %x, sum(%x, axis=[0]), concatenate((%y, %y), axis=0))
}
"""


def arrays(size: int = 5) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(size).standard_normal((size, 3)).astype("float32")
    return x, np.arange(size, dtype=np.float32)


def assert_right(outputs: Any, x: np.ndarray, y: np.ndarray) -> None:
    assert isinstance(outputs, tuple | list) and len(outputs) == 3
    expected = (x + x, x.sum(axis=0), np.concatenate((y, y)))
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.shape == wanted.shape
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture(scope="module")
def open_model() -> Model:
    model = build(parse(OPEN), threads=1)
    assert isinstance(model, Model)
    model(*arrays())
    return model


@pytest.fixture(scope="module")
def fixed_library(folder: Path) -> LoadedProgram:
    build(parse(FIXED), threads=1).export(folder / "fixed.so")
    loaded = load(folder / "fixed.so")
    assert isinstance(loaded, LoadedProgram)
    return loaded


def refuse_the_long_way(calls: NativeCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_free", None)  # would raise


@pytest.fixture(scope="module")
def open_library(folder: Path, open_model: Model) -> LoadedProgram:
    open_model.export(folder / "open.so")
    loaded = load(folder / "open.so")
    assert isinstance(loaded, LoadedProgram)
    return loaded


def test_a_network_with_open_sizes(open_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_model._general is not None
    refuse_the_long_way(open_model._general.calls, monkeypatch)
    for size in (1, 5, 0, 40):
        x, y = arrays(size)
        assert_right(open_model(x, y), x, y)
        assert_right(open_model(x, y=y), x, y)
        assert_right(open_model.run({"y": y, "x": x}), x, y)


def test_the_outputs_of_a_run_are_a_list(open_model: Model) -> None:
    assert isinstance(open_model.run(dict(zip("xy", arrays(), strict=True))), list)
    assert isinstance(open_model(*arrays()), tuple)


def test_sizes_that_differ_end_in_the_same_error(open_model: Model) -> None:
    with pytest.raises(InputError, match="'y' must be") as error:
        open_model(arrays(3)[0], arrays(2)[1])
    assert "n is 3 here." in error.value.notes


def test_code_for_some_shapes_is_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(parse(OPEN), threads=1)
    assert model._general is not None
    for size in (5, 2):
        model.specialize(*arrays(size))
    codes = (model._general, *model._special.values())
    for code in codes:
        refuse_the_long_way(code.calls, monkeypatch)
    for size in (2, 5, 7, 2):
        assert_right(model(*arrays(size)), *arrays(size))
    monkeypatch.setattr(model._general.calls, "value", None)
    for size in (2, 5):
        assert_right(model(*arrays(size)), *arrays(size))


def test_each_call_has_its_number_of_threads(open_model: Model) -> None:
    for threads in (2, 1, 2):
        open_model.threads = threads
        assert_right(open_model(*arrays()), *arrays())
    open_model.threads = 1


def test_calls_may_overlap(fixed_library: LoadedProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fixed_library.calls
    monkeypatch.setattr(calls, "_most", 2)
    first = calls.first
    assert first.direct is not None
    with first.lock:  # as if another thread ran it
        assert first.direct(arrays(), 1) is None
        assert_right(fixed_library(*arrays()), *arrays())
        assert_right(fixed_library(*arrays()), *arrays())
    assert len(calls._calls) == 2
    assert_right(fixed_library(*arrays()), *arrays())


def test_a_library(fixed_library: LoadedProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_the_long_way(fixed_library.calls, monkeypatch)
    for _ in range(2):
        assert_right(fixed_library(*arrays()), *arrays())
        assert_right(fixed_library.run(dict(zip("xy", arrays(), strict=True))), *arrays())
    monkeypatch.undo()
    with pytest.raises(InputError, match="'x' must be"):
        fixed_library(*arrays(4))


def test_a_library_for_all_sizes(
    open_library: LoadedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_the_long_way(open_library.calls, monkeypatch)
    for size in (1, 5, 40):
        x, y = arrays(size)
        assert_right(open_library(x, y), x, y)
        assert_right(open_library.run({"y": y, "x": x}), x, y)


def test_what_does_not_fit_takes_the_long_way(open_library: LoadedProgram) -> None:
    x, y = arrays()
    assert_right(open_library(np.asfortranarray(x), y), x, y)
    with pytest.raises(InputError, match="'y' must be"):
        open_library(x, y[:3])
