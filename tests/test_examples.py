"""The examples run as they stand, from an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def printed(folder: Path, *words: str, **settings: str) -> str:
    """What an example prints, with `python` and `tune` as this environment has them."""
    programs = folder / "bin"
    programs.mkdir()
    start = "import sys; from relay_tune.cli.main import main; sys.exit(main())"
    for name, body in (("python", '"$@"'), ("tune", f"-c '{start}' \"$@\"")):
        (programs / name).write_text(f"#!/bin/sh\nexec {sys.executable} {body}\n")
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    ended = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_an_onnx_file_becomes_a_c_program(tmp_path: Path) -> None:
    lines = printed(tmp_path, "sh", str(EXAMPLES / "onnx_to_c" / "run.sh")).splitlines()
    found = [line for line in lines if line.startswith("class ")]
    assert len(found) == 10
    assert sum(float(line.split()[-1]) for line in found) == pytest.approx(1.0, abs=1e-3)
    assert "digits.onnx is supported" in "\n".join(lines)


def test_a_relay_program_is_interpreted_and_compiled(tmp_path: Path) -> None:
    text = printed(tmp_path, sys.executable, str(EXAMPLES / "relay_program.py"))
    assert text.startswith("<Module @horner, @main(%x: Tensor[(2, 2), float32]")
    assert "[[2.75" in text


def test_words_are_generated_over_caches(tmp_path: Path) -> None:
    words = ("zoo:llama_100m", "--small", "--new", "5", "--temperature", "1", "--top-k", "9")
    script = str(EXAMPLES / "generate.py")
    lines = printed(tmp_path, sys.executable, script, *words, "--top-p", "0.9").splitlines()
    assert len(lines[0].removeprefix("words: ").split()) == 5
    assert [line.split(":")[0] for line in lines[1:]] == ["prompt", "steps"]
    assert "GB/s" in lines[2]


def test_a_network_is_trained(tmp_path: Path) -> None:
    script = str(EXAMPLES / "train_network.py")
    lines = printed(tmp_path, sys.executable, script).splitlines()
    lines = [line for line in lines if line.startswith(("step", "right"))]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines[:-1]]
    assert all("samples/s" in line and line.endswith("s left") for line in lines[:-1])
    assert losses[-1] < 0.3 < losses[0]
    assert float(lines[-1].removeprefix("right: ")) > 0.9
    assert {"stripes.onnx", "stripes.safetensors"} <= {path.name for path in tmp_path.iterdir()}


def test_a_network_in_python_learns_digits(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    script = str(EXAMPLES / "train_digits.py")
    text = printed(tmp_path, sys.executable, script, "--epochs", "4")
    assert float(text.split("right: ")[1].split()[0]) >= 97
    assert (tmp_path / "digits.onnx").exists()


def test_a_recurrent_network_learns_letters(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the quick brown fox jumps over the lazy dog. " * 50)
    script = str(EXAMPLES / "train_characters.py")
    lines = printed(tmp_path, sys.executable, script, "text", "--steps", "150").splitlines()
    bits = [float(line.split()[2]) for line in lines if line.startswith("step")]
    assert bits[-1] < 1 < bits[0]
    assert len(lines[-1]) > 200


def test_a_recursive_network_learns_formulas(tmp_path: Path) -> None:
    script = str(EXAMPLES / "train_trees.py")
    text = printed(tmp_path, sys.executable, script, "--steps", "150")
    assert float(text.split("right: ")[1]) > 0.95


def test_a_policy_learns_to_balance(tmp_path: Path) -> None:
    script = str(EXAMPLES / "train_policy.py")
    lines = printed(tmp_path, sys.executable, script, "--rounds", "16").splitlines()
    first, *_, last = (int(line.split()[4]) for line in lines)
    assert last > 2 * first


def test_a_model_is_tuned_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    script = str(EXAMPLES / "tune_with_report.sh")
    text = printed(tmp_path, "sh", script, TRIALS="4", MINUTES="0.6")
    assert "difference to onnxruntime" in text
    assert "report.html" in text
    assert (tmp_path / "model.h").exists()
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "Where the time goes" in (tmp_path / "report.html").read_text()


def test_the_page_names_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.iterdir():
        assert path.name == "README.md" or f"]({path.name})" in page
