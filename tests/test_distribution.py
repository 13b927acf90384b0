"""The wheel and the source archive: what is in them, and a fresh environment with the wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("relay_tune", "search", "cost_model", "logs")
FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
BUILD = (
    "from setuptools import build_meta as b; print(b.build_wheel('dist'), b.build_sdist('dist'))"
)


def run(words: list[str], folder: Path) -> str:
    """What a program prints, run without the tree on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive, built from a copy of the tree."""
    pytest.importorskip("setuptools", minversion="77")
    tree = tmp_path_factory.mktemp("tree")
    for name in (*PACKAGES, "tests", "benchmarks"):
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=leave)
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)
    (tree / "dist").mkdir()
    names = run([sys.executable, "-c", BUILD], tree).splitlines()[-1].split()
    return tree / "dist" / names[0], tree / "dist" / names[1]


def sources() -> set[str]:
    """All files of the packages that git would have: code, types, and data."""
    endings = {".py", ".pyi", ".relay", ".json", ".typed", ".jinja", ".css", ".js"}
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*"))
    return {
        str(path.relative_to(ROOT))
        for path in files
        if path.suffix in endings or path.name == "py.typed"
    }


def test_wheel_has_the_packages_and_nothing_else(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[0]) as wheel:
        names = set(wheel.namelist())
    described = {name for name in names if ".dist-info/" in name}
    assert names - described == sources()
    assert any(name.endswith("/LICENSE") for name in described)
    for name in PACKAGES:
        assert f"{name}/py.typed" in names
    assert {"relay_tune/tuning/pretrained.json", "relay_tune/__init__.pyi"} <= names


def test_source_archive_has_what_a_build_needs(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not any(name.startswith("benchmarks") for name in names)


def test_command_one_of_the_readme_in_a_fresh_environment(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    """As the README has it, but for the network: what it needs is taken from this environment."""
    run([sys.executable, "-m", "venv", "--without-pip", ".venv"], tmp_path)
    python, command = tmp_path / ".venv/bin/python", tmp_path / ".venv/bin/tune"
    install = ["install", "--quiet", "--no-compile", "--no-index", "--no-deps", str(archives[0])]
    run([sys.executable, "-m", "pip", "--python", str(python), *install], tmp_path)
    here = run([str(python), "-c", "import relay_tune; print(relay_tune.__file__)"], tmp_path)
    assert Path(here.strip()).is_relative_to(tmp_path)
    packages = Path(
        run([str(python), "-c", "import site; print(site.getsitepackages()[0])"], tmp_path).strip()
    )
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    printed = run([str(command), "run", "zoo:mlp", "--trials", "4", "--minutes", "0.5"], tmp_path)
    assert "measured 4 candidates" in printed and "mlp.so, mlp.h" in printed
    assert {"mlp.so", "mlp.h", "tuning.db"} <= {path.name for path in tmp_path.iterdir()}
    script = "import relay_tune as rt; print(rt.load('mlp.so').inputs)"
    assert "float32" in run([str(python), "-c", script], tmp_path)
