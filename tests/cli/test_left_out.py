"""The command imports no package that only looks useful to others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from relay_tune.cli import left_out

SCRIPT = """
import sys
from relay_tune.cli.main import main
sys.argv = ["tune", "run", "missing.onnx"]
code = main()
print(code, "xgboost" in sys.modules, *(name for name in sys.modules if name.startswith("sklearn")))
"""


def test_what_is_left_out_looks_missing_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "UNUSED", ("this", "string"))
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with left_out.unused_left_out():
        with pytest.raises(ImportError):
            import_module("this")
        assert import_module("string") is sys.modules["string"]  # it was there before
    assert "this" not in sys.modules
    assert import_module("this").c == 97


def test_a_tuning_command_imports_no_scikit_learn() -> None:
    command = [sys.executable, "-c", SCRIPT]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["1", "True"]
