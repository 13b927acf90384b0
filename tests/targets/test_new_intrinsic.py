"""An instruction on tiles in one new file: the one that docs/extending.md shows."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from relay_tune.building.plain_data import decoded, encoded
from relay_tune.codegen import target as codegen_target
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.limit_loops import peak_text
from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.machine.intrinsic import Intrinsic, used_in
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.cost import least_tile_cycles
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.loops.tile import tile_nest
from relay_tune.schedule.plan import plan_program
from relay_tune.targets import registry
from relay_tune.targets.x86.amx.record import AMX_BF16
from relay_tune.tensor.expression import Axis, Scalar, Tensor, cast, reduce
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.tensor import compute, input_tensor
from tests.documented_diffs import apply_diff, documented_diff
from tests.installed_packages import install_entry
from tests.schedule.machines import SERVER

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SERVER_WITH_HALVES = parse_target("x86_64-linux-gnu:graniterapids")
ROWS, BLOCKS = 20, 2


@contextmanager
def installed_package(folder: Path, title: str, module: str) -> Iterator[ModuleType]:
    """A package of the page, as an installer leaves it: its test, which finds its record."""
    apply_diff(documented_diff("extending.md", f"mine/{module}.py"), folder)
    text = PAGE.read_text()
    section = text[text.index(title) :]
    (project,) = re.findall(r"```toml\n(.*?)```", section[: section.index("\n## ")], re.DOTALL)
    groups = tomllib.loads(project)["project"]["entry-points"]
    ((name, value),) = groups[registry.INTRINSICS_GROUP].items()
    install_entry(folder, "mine", registry.INTRINSICS_GROUP, f"{name} = {value}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(registry, "_EXTENDED", {})
        theirs = importlib.import_module(f"mine.test_{module}")
        forget_targets()
        yield theirs
    for each in ("mine", f"mine.{module}", f"mine.test_{module}"):
        sys.modules.pop(each, None)
    forget_targets()


def forget_targets() -> None:
    """Targets ask for their instructions once."""
    for remembered in (
        codegen_target._intrinsics,
        codegen_target._dot_products,
        codegen_target._general_machine,
    ):
        remembered.cache_clear()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Products of float16 on matrix registers."""
    folder, title = tmp_path_factory.mktemp("site"), "## An instruction on tiles"
    with installed_package(folder, title, "halves_on_matrix_registers") as theirs:
        yield theirs


@pytest.fixture(scope="module")
def intrinsic(installed: ModuleType) -> Intrinsic:
    """The record of the page's file."""
    found = installed.AMX_FP16
    assert isinstance(found, Intrinsic)
    return found


def test_an_intrinsic_from_outside_is_a_file_a_test_and_an_entry(installed: ModuleType) -> None:
    assert installed.AMX_FP16 in SERVER_WITH_HALVES.intrinsics
    installed.test_what_processors_have("graniterapids", True)
    installed.test_what_processors_have("sapphirerapids", False)
    installed.test_code_with_it_is_checked_for()


def test_a_dot_product_from_outside_is_a_file_a_test_and_an_entry(tmp_path: Path) -> None:
    with installed_package(tmp_path, "## A dot product of words", "signed_bytes") as theirs:
        small_cores = parse_target("x86_64-linux-gnu:sierraforest")
        instructions = {each.instruction for each in small_cores.dot_products}
        assert "llvm.x86.avx2.vpdpbssd.256" in instructions
        theirs.test_it_computes_products_of_signed_bytes("sierraforest", True)
        theirs.test_it_computes_products_of_signed_bytes("alderlake", False)


def test_processes_that_plan_know_it(intrinsic: Intrinsic) -> None:
    machine = replace(SERVER, intrinsics=(AMX_BF16, replace(intrinsic, cycles=18.0)))
    text = encoded(machine)
    assert text is not None and decoded(text) == machine


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("RECORD = 3", "is no record of an instruction, but 3"),
        ("", "cannot be loaded: module 'broken_intrinsic' has no attribute"),
        (
            "from relay_tune.targets.x86.amx.record import AMX_BF16 as RECORD",
            "has the key 'tiles', which is taken",
        ),
    ],
)
def test_packages_without_a_record(
    module: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_intrinsic.py").write_text(module)
    entry = "x86_64.broken = broken_intrinsic:RECORD"
    install_entry(tmp_path, "broken", registry.INTRINSICS_GROUP, entry)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_EXTENDED", {})
    with pytest.raises(InputError, match=r"intrinsic x86_64\.broken of the package") as caught:
        registry.architecture_of("x86_64-linux-gnu")
    sys.modules.pop("broken_intrinsic", None)
    assert reason in caught.value.message
    assert registry.architecture_of("aarch64-linux-gnu").name == "aarch64"


@pytest.fixture(scope="module")
def match(intrinsic: Intrinsic) -> IntrinsicMatch:
    """y[m, b, c] = sum(k, h, g) x[m, 32 * k + 2 * h + g] * w[b, k, 0, h, c, g].

    Of two parts of the weights one is read, so that the steps of an instruction stay an axis.
    """
    x = input_tensor("x", (ROWS, 64), "float16")
    w = input_tensor("w", (BLOCKS, 2, 2, 16, 16, 2), "float16")
    k, h, g = Axis("k", 2), Axis("h", 16), Axis("g", 2)

    def element(m: Scalar, b: Scalar, c: Scalar) -> Scalar:
        left, right = x[m, k * 32 + h * 2 + g], w[b, k, 0, h, c, g]
        return reduce("sum", [k, h, g], cast(left, "float32") * cast(right, "float32"))

    y = compute("y", (ROWS, BLOCKS, 16), element)
    (nest,) = plan_program(TensorProgram((x, w), (y,), ())).nests
    found = intrinsic_match(replace(nest, pattern=intrinsic.pattern))
    assert found is not None
    return found


def kernel_of(match: IntrinsicMatch) -> Kernel:
    """Tiles of two registers along rows and one along columns."""
    nest = match.nest
    tile = {match.row: ROWS, match.column: 16}
    choice = TileChoice(
        vector=nest.axes.index(match.column),
        lanes=16,
        tile=tuple(tile.get(axis, 1) for axis in nest.axes),
        order=tuple(range(len(nest.axes))),
        blocks=(1,) * len(nest.axes),
        reduction_order=tuple(range(len(nest.reduction))),
        unroll=1,
        parallel=0,
    )
    left, right = match.terms[0]
    buffers: tuple[Tensor, ...] = (left.tensor, right.tensor, nest.target)
    return Kernel("halves", buffers, buffers, tile_nest(nest, choice, frozenset()).body)


def test_its_tiles_compute_the_product(match: IntrinsicMatch) -> None:
    kernel, rng = kernel_of(match), np.random.default_rng(1)
    x = rng.integers(-9, 9, (ROWS, 64)).astype(np.float16)
    w = rng.integers(-9, 9, (BLOCKS, 2, 2, 16, 16, 2)).astype(np.float16)
    y = np.zeros(ROWS * BLOCKS * 16, np.float32)
    run_loops(kernel.body, dict(zip(kernel.parameters, (x.ravel(), w.ravel(), y), strict=True)))
    steps = w[:, :, 0].transpose(1, 2, 4, 0, 3).reshape(64, BLOCKS * 16).astype(np.float32)
    np.testing.assert_array_equal(y.reshape(ROWS, -1), x.astype(np.float32) @ steps)


def test_its_code_is_compiled(match: IntrinsicMatch, intrinsic: Intrinsic) -> None:
    written = write_kernel(kernel_of(match), intrinsics=(AMX_BF16, intrinsic))
    head = f'target triple = "{SERVER_WITH_HALVES.triple}"'
    text = "\n".join([head, *sorted(written.declarations), written.text])
    assert used_in((AMX_BF16, intrinsic), [text]) == (intrinsic,)
    for module in (text, peak_text(intrinsic.peak, SERVER_WITH_HALVES)):
        assert "@llvm.x86.tdpfp16ps(" in module and "tdpbf16ps" not in module
        assert compile_text(module, SERVER_WITH_HALVES)


def test_its_costs_are_its_machines(match: IntrinsicMatch, intrinsic: Intrinsic) -> None:
    machine = replace(SERVER, intrinsics=(AMX_BF16, intrinsic))
    assert machine.intrinsic(intrinsic.pattern) is intrinsic
    assert 0 < least_tile_cycles(match, machine) < inf
    assert least_tile_cycles(match, SERVER) == inf
