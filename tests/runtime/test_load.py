import shutil
from pathlib import Path

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.codegen.programs import library as library_file
from relay_tune.errors import IndexRangeError, InputError
from relay_tune.ir.expr import Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType
from relay_tune.runtime.load import load
from relay_tune.runtime.model import Model


@pytest.fixture(scope="module")
def model() -> Model:
    x, y = Var("x", TensorType((3, 4), "float32")), Var("y", TensorType((), "int32"))
    exp, add = find_operator("exp"), find_operator("add")
    assert exp is not None and add is not None
    return build(Module.from_function(Function((x, y), Tuple((exp(x), add(y, y))))), threads=1)


@pytest.fixture(scope="module")
def library(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "small.so"
    model.export(path)
    return path


def test_a_loaded_model_is_called_like_a_built_one(model: Model, library: Path) -> None:
    loaded = load(library)
    assert loaded.inputs == model.inputs and loaded.outputs == model.outputs
    x = np.linspace(-1, 1, 12, dtype="f").reshape(3, 4)
    for ours, theirs in zip(loaded(x, y=4), model(x, 4), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.run({"x": x, "y": 5}, threads=2)[1] == 10
    with pytest.raises(InputError, match="Input 'x' must be"):
        loaded(x.T, 4)


def test_a_renamed_library_loads(library: Path, tmp_path: Path) -> None:
    renamed = shutil.copy(library, tmp_path / "other.so")
    assert list(load(renamed).inputs) == ["x", "y"]


@pytest.mark.parametrize("kept", [0, 40, 0.5, -1])
def test_a_truncated_library(library: Path, tmp_path: Path, kept: float) -> None:
    data = library.read_bytes()
    end = int(len(data) * kept) if 0 < kept < 1 else int(kept)
    (tmp_path / "cut.so").write_bytes(data[:end])
    with pytest.raises(InputError, match="no library that can be loaded"):
        load(tmp_path / "cut.so")


def test_files_that_are_something_else(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("This is no library, but it is long enough to be a header.")
    with pytest.raises(InputError, match="no 64-bit ELF file"):
        load(tmp_path / "text.so")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "missing.so")


def _with_metadata(
    model: Model, path: Path, monkeypatch: pytest.MonkeyPatch, **changes: object
) -> Path:
    """A library that says something else of itself."""
    original = library_file.metadata_text
    monkeypatch.setattr(
        library_file,
        "metadata_text",
        lambda *given, **described: original(*given, **{**described, **changes}),
    )
    model.export(path)
    return path


def test_a_library_for_a_processor_with_more(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _with_metadata(model, tmp_path / "a.so", monkeypatch, features=["avx1024"])
    with pytest.raises(InputError, match="lacks avx1024"):
        load(path)


@pytest.mark.parametrize("changes", [{"format": 99}, {"inputs": [{"name": "x"}]}, {"threads": "x"}])
def test_metadata_of_another_version(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    path = _with_metadata(model, tmp_path / "b.so", monkeypatch, **changes)
    with pytest.raises(InputError, match="does not know"):
        load(path)


@pytest.mark.parametrize("size", ["10", "n"])
def test_an_index_out_of_range_ends_a_run_of_a_library(size: str, tmp_path: Path) -> None:
    text = (
        f"def @main(%t: Tensor[({size}, 4), float32], %i: Tensor[(2), int64]) "
        '{ take(%t, %i, axis=0, mode="raise") }'
    )
    path = tmp_path / "table.so"
    build(parse(text, source_name="f.relay"), threads=2).export(path)
    model = load(path)
    table = np.arange(40, dtype="float32").reshape(10, 4)
    for _ in range(2):
        for index in (10, -11):
            with pytest.raises(IndexRangeError, match=f"take at f.relay:1:.* It is {index}, "):
                model(table, np.array([3, index]))
        np.testing.assert_array_equal(model(table, np.array([3, -10])), table[[3, 0]])
