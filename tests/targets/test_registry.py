"""Which architectures there are: ours, those of installed packages, and no others."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_tune as rt
from relay_tune.cli.show_kernels import kernels_text
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.errors import BuildError, InputError
from relay_tune.machine.architecture import Architecture
from relay_tune.targets import registry
from relay_tune.targets.registry import BUILT_IN, GROUP, architecture_name, architecture_of
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import Kernel, LoopKind, Store
from tests.codegen.running import argument, loop
from tests.installed_packages import install_entry

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
TRIPLE = "loongarch64-linux-gnu"
OURS = "There are: aarch64 (arm64), riscv64, x86_64 (amd64)."
LOONGARCH = 258
"""EM_LOONGARCH, the ELF machine."""


def install(folder: Path, name: str, module: str, value: str) -> None:
    """A package of one module with an entry point, as an installer leaves it."""
    (folder / f"{name}.py").write_text(module)
    install_entry(folder, name, GROUP, value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python looks for packages."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.endswith("_target")]:
        del sys.modules[name]
    registry._LOADED.clear()


@pytest.fixture
def loongarch(folder: Path) -> None:
    """The package that docs/extending.md shows, installed."""
    text = PAGE.read_text()
    section = text[text.index("## A target") :]
    module, project = re.findall(r"```(?:python|toml)\n(.*?)```", section, re.DOTALL)[:2]
    ((name, value),) = tomllib.loads(project)["project"]["entry-points"][GROUP].items()
    install(folder, "loongarch_target", module, f"{name} = {value}")


@pytest.mark.usefixtures("loongarch")
def test_a_target_of_an_installed_package() -> None:
    target = parse_target(f"{TRIPLE}:la464")
    assert (target.vector_bits, target.vector_registers) == (256, 32)
    assert target.machine.vectors.bytes == 32
    lane, source, result = Axis("l", 8), argument("a", (8,)), argument("b", (8,))
    body = loop(lane, Store(result, (lane,), source[lane] * 2.0), kind=LoopKind.VECTOR)
    kernel = Kernel("twice", (source, result), (source, result), body)
    image = compile_text(module_text([kernel], target), target)
    assert image[:4] == b"\x7fELF" and int.from_bytes(image[18:20], "little") == LOONGARCH


MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %y: Tensor[(16), float32]) { nn.relu(%x + %y) }
"""


@pytest.mark.usefixtures("loongarch")
def test_models_are_built_for_it_but_not_linked(tmp_path: Path) -> None:
    target = parse_target(f"{TRIPLE}:la464")
    (kernels,) = kernels_text(rt.parse(MODEL), "llvm", target, 1)
    assert f'target triple = "{TRIPLE}"' in kernels and "<8 x float>" in kernels
    with pytest.raises(BuildError, match="A library for loongarch64 cannot be written"):
        rt.build(rt.parse(MODEL), target=TRIPLE, threads=1).export(tmp_path / "model.so")


@pytest.mark.usefixtures("loongarch")
def test_those_of_packages_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        parse_target("nonsense-linux-gnu")
    assert caught.value.notes == (
        "There are: aarch64 (arm64), riscv64, x86_64 (amd64), loongarch64.",
    )


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("", "cannot be loaded: module 'broken_target' has no attribute"),
        ("import no_such_module", "cannot be loaded: No module named 'no_such_module'"),
        ("RECORD = 3", "is no record of an architecture of this name, but 3"),
    ],
)
def test_packages_without_a_record(folder: Path, module: str, reason: str) -> None:
    install(folder, "broken_target", module, "ppc64le = broken_target:RECORD")
    with pytest.raises(InputError, match="of the package broken_target") as caught:
        parse_target("ppc64le-linux-gnu")
    assert reason in caught.value.message


def test_packages_cannot_take_our_names(folder: Path) -> None:
    install(folder, "other_target", "RECORD = 3", "x86_64 = other_target:RECORD")
    assert parse_target("x86_64-linux-gnu").triple == "x86_64-linux-gnu"


UNSUPPORTED = """
arm arm-linux-gnueabihf armv7-linux-gnu amdgcn-amd-amdhsa:gfx90a nvptx64-nvidia-cuda wasm32
wasm32-unknown-unknown i686-linux-gnu i386-linux-gnu aarch64_be-linux-gnu x86-64-linux-gnu
x86_46-linux-gnu s390x-linux-gnu spirv64 hexagon-linux-gnu
""".split()


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_there_is_not_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(InputError, match=r"is not known: there is no architecture '") as caught:
        parse_target(text)
    assert caught.value.notes == (OURS,)
    with pytest.raises(InputError, match="is not known"):
        rt.build(rt.parse('#[version = "0.0.5"]\ndef @main(%x: int32) { %x }'), target=text)


@pytest.mark.parametrize("text", ["x86_64", "x86_64-linus-gnu", "aarch64-none", "riscv64:generic"])
def test_triples_have_a_system(text: str) -> None:
    with pytest.raises(InputError, match="it names no system that there is"):
        parse_target(text)


@pytest.mark.parametrize(
    ("triple", "name"),
    [
        ("amd64-unknown-freebsd14", "x86_64"),
        ("x86_64-pc-windows-msvc", "x86_64"),
        ("arm64-apple-macosx15.0.0", "aarch64"),
        ("aarch64-linux-android", "aarch64"),
        ("riscv64-unknown-linux-gnu", "riscv64"),
    ],
)
def test_triples_of_our_own(triple: str, name: str) -> None:
    assert architecture_of(triple).name == architecture_name(triple) == name


@pytest.mark.parametrize("own", BUILT_IN, ids=lambda own: own.name)
def test_records_are_whole(own: Architecture) -> None:
    vectors = own.vectors(own.plain_cpu, "")
    assert vectors.bits in (128, 256, 512) and vectors.registers >= 8
    assert bool(own.features) == (own.linking is not None) == (own.stack_switch is not None)
    assert "define internal i1 @f()" in own.check("f", f"{own.name}-linux-gnu", own.features, ())
