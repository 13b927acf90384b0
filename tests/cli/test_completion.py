"""What shells get when Tab is pressed, and that neither this nor help needs a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relay_tune.cli.choices import KERNEL_STEPS, LOG_ACTIONS, PEER_NAMES
from relay_tune.cli.log import ACTIONS
from relay_tune.cli.main import VERBS, command_parser
from relay_tune.cli.peers.catalogue import PEERS
from relay_tune.cli.show_kernels import STEPS
from tests.cli.conftest import Tune

HEAVY = "numpy onnx llvmlite xgboost deap sqlite_utils ml_dtypes rich jinja2 matplotlib".split()
LOADED = """
import sys
from relay_tune.cli.main import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code, end.code
found = sorted({{name.partition(".")[0] for name in sys.modules}} & set({heavy!r}))
sys.stderr.write(",".join(found))
"""


def completions(folder: Path, line: str) -> list[str]:
    """What the command answers to a shell with this line before the cursor."""
    answer = folder / "answer"
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    script = "from relay_tune.cli.main import main; main()"
    tree = Path(__file__).parents[2]
    environment["PYTHONPATH"] = str(tree)
    subprocess.run([sys.executable, "-c", script], cwd=folder, env=environment, timeout=60)
    return [each.strip() for each in answer.read_text().split("\x0b")]


@pytest.mark.parametrize("words", [["--help"], *([verb, "--help"] for verb in VERBS)], ids=str)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    script = LOADED.format(words=words, heavy=HEAVY)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert "example: " in ended.stdout


def test_verbs_options_and_values_are_completed(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").touch()
    (tmp_path / "notes.txt").touch()
    assert completions(tmp_path, "tune re") == ["report"]
    assert set(completions(tmp_path, "tune bench x --against ")) == set(PEER_NAMES)
    assert completions(tmp_path, "tune run x --min") == ["--minutes"]
    assert "net.onnx" in completions(tmp_path, "tune run n")
    assert "notes.txt" not in completions(tmp_path, "tune run n")
    assert "merge" in completions(tmp_path, "tune log ")
    assert "fuse" in completions(tmp_path, "tune show x --after fu")


def test_built_in_networks_are_completed(tmp_path: Path) -> None:
    assert completions(tmp_path, "tune run zoo:resnet1") in (["resnet18"], ["zoo:resnet18"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_code(tune: Tune, shell: str, tmp_path: Path) -> None:
    code = tune("completion", shell).out
    assert "tune" in code
    program = shutil.which(shell)
    if program is not None:
        file = tmp_path / "code"
        file.write_text(code)
        subprocess.run([program, "-n", str(file)], check=True, timeout=60)


def test_bash_completes(tune: Tune, tmp_path: Path) -> None:
    bash, command = shutil.which("bash"), tmp_path / "tune"
    if bash is None:
        pytest.skip("there is no bash")
    tree = Path(__file__).parents[2]
    body = "import sys; from relay_tune.cli.main import main; sys.exit(main())"
    command.write_text(f"#!{bash}\nPYTHONPATH={tree} exec {sys.executable} -c '{body}' \"$@\"\n")
    command.chmod(0o755)
    file = tmp_path / "code"
    file.write_text(tune("completion", "bash").out)
    script = f"""
    PATH={tmp_path}:$PATH; source {file}
    COMP_WORDS=(tune pro); COMP_CWORD=1; COMP_LINE="tune pro"; COMP_POINT=8; COMP_TYPE=9
    _python_argcomplete tune; echo "${{COMPREPLY[@]}}"
    """
    ended = subprocess.run([bash, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "profile", ended.stderr


def test_what_parsers_offer_is_what_there_is() -> None:
    assert list(PEER_NAMES) == list(PEERS)
    assert list(KERNEL_STEPS) == list(STEPS)
    assert list(LOG_ACTIONS) == list(ACTIONS)
    assert command_parser().prog == "tune"
