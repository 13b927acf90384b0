import errno
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.codegen.export import c_name
from relay_tune.codegen.programs.library import export_program
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError, InputError
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.model import Model

PAGE = Path(__file__).parents[2] / "docs" / "c_api.md"

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def digits(target: str = "native") -> Model:
    rng = np.random.default_rng(11)
    x = Var("x", TensorType((2, 32), "float32"))
    dense, softmax = find_operator("nn.dense"), find_operator("nn.softmax")
    assert dense is not None and softmax is not None
    hidden = softmax(dense(x, constant(rng.standard_normal((24, 32)).astype("f"))))
    body = dense(hidden, constant(rng.standard_normal((10, 24)).astype("f")))
    module = Module({"main": Function((x,), body)}, attributes={"outputs": ("scores",)})
    return build(module, target=target, threads=2)


@needs_compiler
@pytest.mark.parametrize("target", ["native", "x86_64-linux-gnu:haswell"])
def test_the_program_of_the_page(tmp_path: Path, target: str) -> None:
    program = re.search(r"```c\n(.*?)```", PAGE.read_text(), re.DOTALL)
    command = re.search(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert program is not None and command is not None
    model = digits(target)
    model.export(tmp_path / "digits.so")
    (tmp_path / "program.c").write_text(program.group(1))
    strict = command.group(1).strip() + " -Wall -Wextra -Werror -std=c99"
    subprocess.run(shlex.split(strict), cwd=tmp_path, check=True)
    output = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
    title, numbers = output.stdout.split(":")
    assert title == "scores, rank 2"
    data = (np.arange(64, dtype="f") / 100).reshape(2, 32)
    expected = np.asarray(model(data))
    np.testing.assert_allclose([float(n) for n in numbers.split()], expected.reshape(-1), atol=2e-6)


@needs_compiler
def test_the_library_shows_its_own_names_only(tmp_path: Path) -> None:
    digits().export(tmp_path / "my digits.so")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["my digits.h", "my digits.so"]
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / "my digits.so"], capture_output=True, text=True
    )
    names = {line.split()[-1] for line in listing.stdout.splitlines()}
    assert "my_digits_run" in names
    assert all(name.startswith("my_digits_") for name in names)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        digits().export(tmp_path / "missing" / "digits.so")


def test_the_same_file_with_no_tool_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits().export(tmp_path / "digits.so")
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    digits().export(tmp_path / "other" / "digits.so")
    first, second = (folder / "digits.so" for folder in (tmp_path, tmp_path / "other"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "target", ["x86_64-apple-darwin", "x86_64-pc-windows-msvc", "riscv64-linux-gnu"]
)
def test_a_target_without_libraries(tmp_path: Path, target: str) -> None:
    model = digits()
    other = replace(model.compiled(), target=replace(native_target(), triple=target))
    with pytest.raises(BuildError, match="written"):
        export_program(other, tmp_path / "digits.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["digits.dll", "digits.dylib", "digits.EXE", "digits.o"])
def test_names_of_other_systems(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"shared libraries end with \.so") as caught:
        digits().export(tmp_path / name)
    assert str(tmp_path / "digits.so") in caught.value.render()
    assert not list(tmp_path.iterdir())


def test_a_failed_export_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digits.so").write_text("old")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("relay_tune.codegen.export.write_shared_object", full)
    with pytest.raises(InputError, match="No space left"):
        digits().export(tmp_path / "digits.so")
    assert [file.name for file in tmp_path.iterdir()] == ["digits.so"]
    assert (tmp_path / "digits.so").read_text() == "old"


def test_a_library_says_its_name_and_asks_for_old_versions(tmp_path: Path) -> None:
    digits().export(tmp_path / "digits.so")
    data = (tmp_path / "digits.so").read_bytes()
    assert b"\0digits.so\0" in data
    versions = re.findall(rb"GLIBC_2\.(\d+)", data)
    assert versions and max(map(int, versions)) <= 17


@pytest.mark.parametrize(
    ("stem", "name"), [("resnet18", "resnet18"), ("a-b.c", "a_b_c"), ("3d", "model_3d")]
)
def test_names_in_c(stem: str, name: str) -> None:
    assert c_name(stem) == name
