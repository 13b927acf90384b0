"""Every command that the documentation names is run: those of `tune`, and those of `benchmarks`."""

from __future__ import annotations

import re
import shlex
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from relay_tune.cli.main import VERBS, main
from tests.docs_console import PAGES, ROOT
from tests.docs_pages import blocks, mentioned_commands, name_of

MODEL = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
LAYER = """
def @main(%x: Tensor[(4, 64), float32]) {
  nn.dense(%x, ones(shape=(64, 64), dtype="float32"))
}
"""
PLACES = {
    "NETWORK": "layer.relay",
    "SAMPLES": "samples.npz",
    "MODEL": "model.relay",
    "VERB": "show",
    "NAME": "fuse",
    "LOG": "tuning.db",
    "OTHER...": "other.db",
    "FILE": "tuning.jsonl",
    "zoo:resnet18": "zoo:mlp",
}
SHORT = {"run": ["--trials", "4", "--minutes", "0.5"], "bench": ["--repeat", "1"]}
BENCHMARK = re.compile(r"python -m (benchmarks[.\w]+)([^`\n#]*)")


def words_of(command: str) -> list[str]:
    """The words of a command, with a small model and small logs in the places it leaves open."""
    words = [PLACES.get(word, word) for word in shlex.split(command.removeprefix("tune "))]
    if words == ["run"]:
        words.append(PLACES["MODEL"])
    return words + SHORT.get(words[0], [])


def open_commands() -> list[str]:
    """The commands that are no console blocks, those that make a log first."""
    found = {command for _, command in mentioned_commands() if "docs/" not in command}
    found -= {"tune check"}  # without a model: it is explained, not shown
    order = ["run", "log export", *VERBS]
    return sorted(found, key=lambda c: (min(_places(c, order), default=len(order)), c))


def _places(command: str, order: list[str]) -> list[int]:
    return [place for place, start in enumerate(order) if command.startswith(f"tune {start}")]


def test_open_commands_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.relay").write_text(MODEL)
    (tmp_path / "layer.relay").write_text(LAYER)
    np.savez(tmp_path / "samples.npz", x=np.ones((8, 64), "float32"))
    commands = open_commands()
    assert len(commands) >= 18 and {command.split()[1] for command in commands} >= set(VERBS)
    assert main(["run", "model.relay", "--log", "other.db", "--trials", "1"]) == 0
    for command in commands:
        words = words_of(command)
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0) if "--help" in words else 1
        printed = capsys.readouterr()
        assert code == 0, f"{command}: {printed.err}"
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"model.so", "model.h", "mlp.so", "tuning.db", "tuning.html", "tuning.jsonl"}


def benchmark_commands() -> list[tuple[str, str, str]]:
    return [
        (name_of(page), match[1], match[2])
        for page in PAGES
        for match in BENCHMARK.finditer(page.read_text())
    ]


@pytest.mark.parametrize(("page", "module", "options"), benchmark_commands())
def test_benchmarks_have_the_options_that_pages_name(page: str, module: str, options: str) -> None:
    source = ROOT / Path(*module.split(".")).with_suffix(".py")
    text = source.read_text()
    for option in re.findall(r"(?<= )-{1,2}[a-z][\w-]*", options):
        assert f'"{option}"' in text, f"{page}: {module} {option}"
    assert "def main(" in text


def run_block(page: str, names: dict[str, object]) -> dict[str, object]:
    (block,) = blocks(ROOT / "docs" / page, "python")
    exec(compile(block, page, "exec"), names)
    return names


def test_the_program_of_the_log_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"measure": lambda schedule: 0.25, "time": time, "socket": socket}
    run_block("log.md", dict(names))
    assert "0.25" in capsys.readouterr().out
    run_block("log.md", {**names, "measure": None})  # it is measured: not again


def test_the_program_of_the_search_page_runs() -> None:
    measured: list[dict[str, object]] = []

    def measure(candidate: dict[str, object]) -> float:
        measured.append(candidate)
        return float(str(candidate["rows"]))

    def features(candidate: dict[str, object]) -> np.ndarray:
        return np.array([float(str(candidate["rows"]))])

    names = {
        "fits_in_registers": lambda genome: genome[0] != 3,
        "default": (0, 0),
        "features": features,
        "measure": measure,
    }
    run_block("search.md", names)
    assert len(measured) == 6 and all(candidate["rows"] != 8 for candidate in measured)
