from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from relay_tune import __version__
from relay_tune.cli import main as command
from relay_tune.cli.main import VERBS
from tests.cli.conftest import Tune

ROOT = Path(__file__).parents[2]


def test_help_lists_every_verb(tune: Tune) -> None:
    outcome = tune("--help")
    assert outcome.code == 0
    for verb, summary in VERBS.items():
        assert verb in outcome.out
        assert summary in outcome.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_of_itself(tune: Tune, verb: str) -> None:
    outcome = tune(verb, "--help")
    assert outcome.code == 0
    assert f"example: tune {verb} " in outcome.out


def test_version(tune: Tune) -> None:
    assert tune("--version").out.strip() == f"tune {__version__}"


@pytest.mark.parametrize("words", [[], ["nonsense"], ["show"], ["show", "a", "--no-such-option"]])
def test_a_wrong_command_line_is_code_2(tune: Tune, words: list[str]) -> None:
    outcome = tune(*words)
    assert outcome.code == 2
    assert "usage: tune" in outcome.err


@pytest.mark.parametrize("shape", ["data", "=1,2", "data=1,x", "data=-1", "data=1,,2"])
def test_a_malformed_shape_is_code_2(tune: Tune, shape: str) -> None:
    outcome = tune("show", "a.onnx", "--shape", shape)
    assert outcome.code == 2
    assert "does not read like NAME=1,3,224,224" in outcome.err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "x.db"), "x.db: Permission denied"),
        (
            OSError(28, "No space left on device"),
            "the output cannot be written: No space left on device",
        ),
        (
            OSError(24, "Too many open files"),
            "This process may open no more files.\n"
            "  help: Raise the limit: `ulimit -n 1024` in a shell.",
        ),
        (MemoryError(), "The memory of this machine is not enough for this."),
    ],
)
def test_failures_of_the_machine_are_one_line(
    tune: Tune, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(command, "command_parser", fail)
    outcome = tune("show")
    assert outcome.code == 1
    assert outcome.err == f"tune: error: {message}\n"


def test_an_interrupt_is_code_130(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "command_parser", interrupt)
    outcome = tune("show")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of POSIX")
def test_a_reader_that_stops_reading_causes_no_traceback() -> None:
    words = [sys.executable, "-m", "relay_tune", "show", "zoo:lstm"]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 1
    process.stderr.close()


@pytest.mark.parametrize("closing", [">&-", ">&- 2>&-", "<&- 2>&-"])
def test_closed_streams_cause_no_traceback(closing: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m relay_tune check zoo:mlp {closing}"
    told = tmp_path / "told.txt"
    with told.open("w") as file:
        ended = subprocess.run(
            ["sh", "-c", command], cwd=ROOT, stdout=file, stderr=subprocess.PIPE, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert bool(told.read_text()) == closing.startswith("<")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no full device here")
def test_a_full_device_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "relay_tune", "show", "zoo:mlp"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 1
    message = b"tune: error: the output cannot be written: No space left on device\n"
    assert ended.stderr == message


def test_the_command_computes_references_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tune", "--version"])
    for given, expected in ((None, "1"), ("3", "3")):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")  # which is undone in the end
        if given is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        with pytest.raises(SystemExit):
            command.main()
        assert os.environ["OPENBLAS_NUM_THREADS"] == expected
