"""Each wrong command in tests/errors/command stands above its message and its exit code.

To write the messages anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this file,
then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from tests.cli.conftest import Tune
from tests.golden_errors import assert_golden

CONSOLES = sorted((Path(__file__).parents[1] / "errors" / "command").glob("*.console"))


@pytest.fixture
def place(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run: what they name, but for what is missing."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken.h").mkdir()
    (tmp_path / "text.db").write_text("this is no tuning log\n")
    (tmp_path / "garbage.onnx").write_text("this is no model\n")
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "foreign.json").write_text("[1, 2]\n")
    (tmp_path / "object.json").write_text("{}\n")
    (tmp_path / "helper.relay").write_text("def @helper(%x: int32) { %x }\n")
    (tmp_path / "binary.relay").write_bytes(b"\xff\xfe")
    write_calibration_data(tmp_path)
    for name in ("pipe", "pipe.onnx", "pipe.relay", "pipe.npz"):
        os.mkfifo(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_calibration_data(folder: Path) -> None:
    """A layer with constant weights, itself quantized, and samples that do not fit it."""
    stored = 'qnn.dequantize(qnn.quantize(%x, 1f, 0i8, out_dtype="int8"), 1f, 0i8)'
    for name, data in (("layer", "%x"), ("quantized", stored)):
        product = f'nn.dense({data}, ones(shape=(3, 4), dtype="float32"))'
        text = f"def @main(%x: Tensor[(2, 4), float32]) {{ {product} }}\n"
        (folder / f"{name}.relay").write_text(text)
    whole = np.ones((6, 4), "float32")
    for name, sample in (
        ("shape", np.ones((6, 5), "float32")),
        ("float64", whole.astype("float64")),
        ("nan", np.where(np.arange(4) == 1, np.nan, whole).astype("float32")),
        ("empty", whole[:0]),
        ("zero", 0 * whole),
    ):
        np.savez(folder / f"{name}.npz", x=sample)
    np.savez(folder / "name.npz", data=whole)
    np.save(folder / "infinite.npy", np.inf * whole)
    np.save(folder / "whole.npy", whole)
    (folder / "text.npz").write_text("no arrays\n")


def changes(folder: Path) -> dict[Path, int]:
    """When each file of a folder was changed last."""
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("console", CONSOLES, ids=lambda console: console.stem)
def test_message(console: Path, place: Path, tune: Tune) -> None:
    command = console.read_text().splitlines()[0]
    if "/dev/full" in command and not Path("/dev/full").is_char_device():
        pytest.skip("there is no full device here")
    before = changes(place)
    outcome = tune(*command.split()[2:])
    message = outcome.err[outcome.err.index("tune") :].replace(str(native_target()), "NATIVE")
    usage, error, rest = message.rpartition("error: ")
    found = f"{command}\n{usage.splitlines()[-1]}{error}{rest}exit code {outcome.code}\n"
    assert_golden(found, console)
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    assert changes(place) == before  # nothing is written, not even half
