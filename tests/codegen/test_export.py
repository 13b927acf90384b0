import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.building.build import build
from relay_tune.codegen.export import c_name
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
    subprocess.run(strict.split(), cwd=tmp_path, check=True)
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
    assert all(name.startswith("my_digits_") or name == "relay_tune_metadata" for name in names)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        digits().export(tmp_path / "missing" / "digits.so")


def test_without_a_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"relay-tune\[linker\]"):
        digits().export(tmp_path / "digits.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("stem", "name"), [("resnet18", "resnet18"), ("a-b.c", "a_b_c"), ("3d", "model_3d")]
)
def test_names_in_c(stem: str, name: str) -> None:
    assert c_name(stem) == name
