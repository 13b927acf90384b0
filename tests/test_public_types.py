"""A type checker accepts what the documentation shows, without casts, and finds mistakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parent.parent
SAMPLE = """
import numpy as np
import relay_tune as rt

module = rt.from_onnx("model.onnx")
result = rt.tune(module, log="tuning.db", minutes=1)
model = rt.build(module, log="tuning.db")
x = np.ones((1, 3), np.float32)
y = model(x)
print(y.shape, y.argmax(), result.measured + 1)
first, second = model(x)
print(first.sum() + second.sum())
outputs = model.run(None, {"x": x})
print(outputs[0].shape, model.run({"x": x})[0].dtype)
print(model.get_inputs()[0].shape, model.get_outputs()[0].type.upper())
print(model.profile(x).rows[0].seconds, model.benchmark(x).median)
model.export("model.so")
loaded = rt.load("model.so")
print(loaded(x).shape, loaded.run(None, {"x": x})[0].shape)
value = rt.interpret(module, x)


def total(program: rt.Executable, feeds: dict[str, np.ndarray]) -> float:
    outputs = program.run(None, feeds, threads=1)
    program.threads = 2
    names = [each.name.upper() for each in program.get_outputs()] + list(program.inputs)
    print(names, program.benchmark(*feeds.values(), threads=1).median)
    return float(outputs[0].sum())


print(total(model, {"x": x}) + total(loaded, {"x": x}))
print(model.trace(x, threads=1).events[0].title, model.profile(x).whole, model.threads)
model.specialize(x)
for row in result.tasks:
    print(row.title.upper(), row.best_seconds)
if result.network is not None:
    print(result.network.ratio + 1)
module.astext().upper()
"""
WRONG = {
    "model.benchmark(x).median.upper()": "has no attribute",
    "model.get_inputs()[0].sizes": "has no attribute",
    "rt.build(3)": "incompatible type",
    "rt.tune(module, log='t.db', minutes='1')": "incompatible type",
}


def checked(folder: Path, text: str) -> str:
    """What mypy says of a file; what it knows of the package is kept where its own runs keep it."""
    file = folder / "sample.py"
    file.write_text(text)
    config = f"--config-file={ROOT / 'pyproject.toml'}"
    words = [sys.executable, "-m", "mypy", "--strict", config, str(file)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


def test_the_ways_of_the_documentation_need_no_casts(tmp_path: Path) -> None:
    assert "Success: no issues found" in checked(tmp_path, SAMPLE)


def test_mistakes_are_found(tmp_path: Path) -> None:
    said = checked(tmp_path, SAMPLE + "\n".join(WRONG) + "\n")
    for message in WRONG.values():
        assert message in said
    assert f"Found {len(WRONG)} errors" in said
