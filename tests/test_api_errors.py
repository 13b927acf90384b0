"""What users of the Python API give by mistake: one RelayError that says what and what to do."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
X, W = np.ones((4, 8), np.float32), np.ones((16, 8), np.float32)
MODULE = rt.parse(TEXT)

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "missing file": (lambda: rt.from_onnx("missing.onnx"), "missing.onnx cannot be read"),
    "folder": (lambda: rt.from_onnx("folder"), "folder cannot be read: Is a directory"),
    "no model": (lambda: rt.from_onnx(3), "cannot be read from a value of type int"),  # type: ignore[arg-type]
    "no bytes": (lambda: rt.from_onnx(b""), "The given value holds no graph"),
    "bytes of text": (lambda: rt.parse(b"def"), "of type bytes was given"),  # type: ignore[arg-type]
    "path to build": (lambda: rt.build("m.onnx"), "Module is needed"),  # type: ignore[arg-type]
    "log missing": (lambda: rt.build(MODULE, log="no.db"), "no.db: There is no such log"),
    "log is text": (lambda: rt.build(MODULE, log="text.db"), "text.db: The file is not a tuning"),
    "no threads": (lambda: rt.build(MODULE, threads=0), "threads is 0, but must be a whole"),
    "many threads": (lambda: rt.build(MODULE, threads=10**6), "from 1 to 256"),
    "target": (lambda: rt.build(MODULE, target="vax"), "The target 'vax' is not known"),
    "minutes": (lambda: rt.tune(MODULE, minutes=-1), "minutes is -1"),
    "no minutes": (lambda: rt.tune(MODULE, minutes=nan), "minutes is nan"),
    "trials": (lambda: rt.tune(MODULE, trials=1.5), "trials is 1.5"),  # type: ignore[arg-type]
    "seed": (lambda: rt.tune(MODULE, seed=-1), "seed is -1, but must be a whole number from 0"),
    "accuracy": (lambda: rt.tune(MODULE, accuracy="none"), "There is no accuracy 'none'"),
    "log is folder": (lambda: rt.tune(MODULE, log="folder"), "folder: The log is a folder"),
    "shape": (lambda: rt.interpret(MODULE, X[:3], W), r"'x' must be Tensor\[\(4, 8\), float32\]"),
    "dtype": (lambda: rt.build(MODULE)(X.astype(int), W), r"x.astype\(\"float32\"\)"),
    "missing input": (lambda: rt.build(MODULE)(X), "No value was given for: w"),
    "wrong name": (lambda: rt.build(MODULE)(x=X, y=W), "no input 'y'"),
    "export to folder": (lambda: rt.build(MODULE).export("folder"), "folder cannot be written"),
    "export to text": (lambda: rt.build(MODULE).export("m.h"), "m.h is no name for a library"),
    "load text": (lambda: rt.load("text.db"), "no library that can be loaded"),
    "load nothing": (lambda: rt.load("missing.so"), "missing.so cannot be read"),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_clear_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("this is no tuning log\n")
    monkeypatch.chdir(tmp_path)
    call, message = CALLS[name]
    with pytest.raises(rt.RelayError, match=message):
        call()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in left if not name.startswith("tuning.db")] == ["folder", "text.db"]
