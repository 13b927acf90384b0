"""The names of `import relay_tune`, how they are imported, and what shadows their parts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import relay_tune as rt

ROOT = Path(__file__).parent.parent
HEAVY = ("search", "cost_model", "logs", "llvmlite", "onnx", "xgboost", "numpy", "deap")
TEXT = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"


def python(
    *arguments: str, folder: Path = ROOT, path: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(path), "PATH": "", **kept},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_import_is_light() -> None:
    script = f"import sys, relay_tune; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python("-c", script).stdout.strip() == "[]"


def test_python_looks_for_no_garbage_during_an_import() -> None:
    script = """
import gc, relay_tune as rt
begun = []
gc.callbacks.append(lambda phase, about: begun.append(phase))
rt.build
found = len(begun), gc.isenabled()
gc.disable()
rt.from_onnx
print(*found, gc.isenabled())
"""
    assert python("-c", script).stdout.split() == ["0", "True", "False"]


@pytest.mark.parametrize("name", ["parse", "from_json"])
def test_what_reads_programs_knows_all_operators_from_the_start(name: str) -> None:
    text = rt.to_json(rt.parse(TEXT)) if name == "from_json" else TEXT
    script = f"import sys, relay_tune as rt; print(rt.{name}(sys.argv[1]))"
    assert "1 nn.relu" in python("-c", script, text).stdout


@pytest.mark.parametrize("name", rt.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(rt, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        rt.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_the_stub_names_what_the_package_has() -> None:
    tree = ast.parse((ROOT / "relay_tune" / "__init__.pyi").read_text())
    imported = {
        (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {(home, name) for home, names in rt._HOMES.items() for name in names}  # type: ignore[attr-defined]
    packages = {("relay_tune", name) for name in rt._PACKAGES}  # type: ignore[attr-defined]
    assert imported == homes | packages


def test_dir_lists_the_public_names() -> None:
    assert set(dir(rt)) >= {"parse", "tune", "build", "RelayError", "__version__"}


def test_errors_have_one_root() -> None:
    for error in (rt.ParseError, rt.InputError, rt.ModelError, rt.BuildError, rt.TuningError):
        assert issubclass(error, rt.RelayError)


def test_parse_knows_the_operators_and_prints_the_same_text() -> None:
    module = rt.parse(TEXT)
    again = rt.parse(module.astext())
    assert rt.structural_equal(module, again)
    assert rt.structural_hash(module) == rt.structural_hash(again)


def test_parse_alone_registers_the_operators() -> None:
    script = f"import relay_tune as rt; print(rt.parse({TEXT!r}).astext())"
    assert "nn.relu(%x)" in python("-c", script).stdout


@pytest.mark.parametrize("leaf", ["search", "cost_model", "logs"])
def test_a_file_that_hides_a_part_is_named(leaf: str, tmp_path: Path) -> None:
    own = tmp_path / f"{leaf}.py"
    own.write_text("raise SystemExit('the file of the user was run')\n")
    script = "import relay_tune as rt\ntry:\n    rt.tune\nexcept rt.RelayError as e:\n    print(e)"
    (tmp_path / "main.py").write_text(script)
    result = python("main.py", folder=tmp_path)
    assert str(own) in result.stdout
    assert str(ROOT / leaf / "__init__.py") in result.stdout
    assert f"Rename {leaf}.py" in result.stdout
    assert result.returncode == 0


def test_the_command_names_a_file_that_hides_a_part(tmp_path: Path) -> None:
    (tmp_path / "logs.py").write_text("")
    result = python("-m", "relay_tune", "check", "zoo:mlp", folder=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("tune: error:")
    assert str(tmp_path / "logs.py") in result.stderr


def test_a_folder_of_the_same_name_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    result = python("-m", "relay_tune", "check", "zoo:mlp", folder=tmp_path)
    assert result.returncode == 0, result.stderr
