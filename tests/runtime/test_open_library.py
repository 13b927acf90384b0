"""Libraries that are opened, replaced, released and damaged."""

from __future__ import annotations

import gc
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.export import METADATA_FORMAT
from relay_tune.errors import InputError
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType
from relay_tune.runtime import load as load_module
from relay_tune.runtime.load import _metadata, load

X = np.arange(6, dtype="float32").reshape(2, 3)


def export(path: Path, factor: float, size: str = "2") -> Path:
    text = f"def @main(%x: Tensor[({size}, 3), float32]) {{ %x * {factor}f }}"
    build(parse(f'#[version = "0.0.5"]\n{text}'), threads=2).export(path)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("library") / "net.so", 2)


def mapped(path: Path) -> bool:
    """Whether a library of this name is open in this process."""
    return f"/memfd:{path.name}" in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("size", ["2", "n"])
def test_a_replaced_library_is_the_new_one(tmp_path: Path, size: str) -> None:
    models = []
    for factor in (2, 3, 4):
        export(tmp_path / "net.so", factor, size)
        models.append(load(tmp_path / "net.so"))
    for factor, model in zip((2, 3, 4), models, strict=True):
        np.testing.assert_array_equal(model(X), factor * X)


@pytest.mark.parametrize("size", ["2", "n"])
def test_a_library_is_closed_with_its_last_model(tmp_path: Path, size: str) -> None:
    path = export(tmp_path / f"closed_{size}.so", 2, size)
    process = psutil.Process()
    before = process.num_threads(), process.num_fds()
    model = load(path)
    result = model(X)
    assert mapped(path)
    run = model.run
    del model
    gc.collect()
    np.testing.assert_array_equal(np.reshape(run({"x": X}), (2, 3)), result)
    del run
    gc.collect()
    assert not mapped(path)
    deadline = time.monotonic() + 10  # the system lists a thread for a moment after it was joined
    while process.num_threads() > before[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.num_threads() <= before[0]
    assert process.num_fds() <= before[1]
    np.testing.assert_array_equal(result, 2 * X)


def test_files_that_are_overwritten_in_place(library: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "net.so", export(tmp_path / "other.so", 3)
    shutil.copy(library, path)
    old = load(path)  # without weights: it does not need the file
    shutil.copy(other, path)
    np.testing.assert_array_equal(load(path)(X), 3 * X)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="no 64-bit ELF file"):
        load(path)
    np.testing.assert_array_equal(old(X), 2 * X)


def test_weights_are_mapped_from_the_file(tmp_path: Path) -> None:
    weights = np.arange(40000, dtype="float32").reshape(100, 400)
    x = Var("x", TensorType((2, 400), "float32"))
    dense = find_operator("nn.dense")
    assert dense is not None
    model = build(Module.from_function(Function((x,), dense(x, constant(weights)))), threads=1)
    model.export(tmp_path / "net.so")
    loaded, data = load(tmp_path / "net.so"), np.ones((2, 400), "float32")
    np.testing.assert_array_equal(loaded(data), model(data))
    mappings = Path("/proc/self/maps").read_text().splitlines()
    assert any(str(tmp_path / "net.so") in line and "r--p" in line for line in mappings)


def test_every_kind_of_damage_is_found_before_code_runs(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*arguments: object) -> None:
        raise AssertionError("a damaged library was opened")

    monkeypatch.setattr(load_module, "open_library", opened)
    whole, path = library.read_bytes(), tmp_path / "damaged.so"
    generator = np.random.default_rng(0)
    for number in range(200):
        data = bytearray(whole)
        at = int(generator.integers(len(data) if number % 2 else 0x400))
        match number % 5:
            case 0:
                data[at] ^= 1 << int(generator.integers(8))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = generator.bytes(8)
            case 3:
                data[at : at + 64] = generator.bytes(64)
            case _:
                data += bytes(at + 1)
        if data == whole:
            continue
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(path) in str(caught.value) and caught.value.remedy


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.so")
    for path in (tmp_path / "fifo.so", tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match="no regular file"):
            load(path)


def test_libraries_of_others() -> None:
    (foreign,) = Path(np.__file__).parent.glob("_core/_multiarray_umath*.so")
    with pytest.raises(InputError, match="no model that export wrote"):
        load(foreign)


def test_a_library_for_another_machine_is_not_opened(tmp_path: Path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { %x }'
    model = build(parse(text), target="aarch64-linux-gnu:neoverse-n1", threads=1)
    model.export(tmp_path / "net.so")
    with pytest.raises(InputError, match="made for aarch64-linux-gnu:neoverse-n1"):
        load(tmp_path / "net.so")


@pytest.mark.parametrize("name", ["a b", "", "a\0b", "1"])
def test_names_that_no_function_of_c_has_are_refused(name: str) -> None:
    described = json.dumps({"format": METADATA_FORMAT, "name": name}).encode()
    for description in (described, b"[" * 100_000):
        with pytest.raises(InputError, match="does not know"):
            _metadata(description, "m.so")
