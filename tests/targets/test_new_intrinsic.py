"""An instruction on tiles in one new file: the one that docs/extending.md shows."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.limit_loops import peak_text
from relay_tune.codegen.target import parse_target
from relay_tune.machine.intrinsic import Intrinsic, used_in
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.cost import least_tile_cycles
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.loops.tile import tile_nest
from relay_tune.schedule.plan import plan_program
from relay_tune.targets.x86.amx.record import AMX_BF16
from relay_tune.tensor.expression import Axis, Scalar, Tensor, cast, reduce
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SERVER_WITH_BYTES = parse_target("x86_64-linux-gnu:sapphirerapids:+amx-int8")
ROWS, BLOCKS = 20, 2


@pytest.fixture(scope="module")
def intrinsic() -> Intrinsic:
    """The record of the page's file."""
    text = PAGE.read_text()
    section = text[text.index("## An instruction on tiles") :]
    (source,) = re.findall(r"```python\n(.*?)```", section[: section.index("\n## ")], re.DOTALL)
    module = ModuleType("int8")
    exec(source, module.__dict__)
    found = module.__dict__["AMX_INT8"]
    assert isinstance(found, Intrinsic)
    return found


@pytest.fixture(scope="module")
def match(intrinsic: Intrinsic) -> IntrinsicMatch:
    """y[m, b, c] = sum(k, h, g) x[m, 64 * k + 4 * h + g] * w[b, k, 0, h, c, g].

    Of two parts of the weights one is read, so that the steps of an instruction stay an axis.
    """
    x = input_tensor("x", (ROWS, 128), "uint8")
    w = input_tensor("w", (BLOCKS, 2, 2, 16, 16, 4), "int8")
    k, h, g = Axis("k", 2), Axis("h", 16), Axis("g", 4)

    def element(m: Scalar, b: Scalar, c: Scalar) -> Scalar:
        left, right = x[m, k * 64 + h * 4 + g], w[b, k, 0, h, c, g]
        return reduce("sum", [k, h, g], cast(left, "int32") * cast(right, "int32"))

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
    return Kernel("bytes", buffers, buffers, tile_nest(nest, choice, frozenset()).body)


def test_its_tiles_compute_the_product(match: IntrinsicMatch) -> None:
    kernel, rng = kernel_of(match), np.random.default_rng(1)
    x = rng.integers(0, 256, (ROWS, 128)).astype(np.uint8)
    w = rng.integers(-128, 128, (BLOCKS, 2, 2, 16, 16, 4)).astype(np.int8)
    y = np.zeros(ROWS * BLOCKS * 16, np.int32)
    run_loops(kernel.body, dict(zip(kernel.parameters, (x.ravel(), w.ravel(), y), strict=True)))
    steps = w[:, :, 0].transpose(1, 2, 4, 0, 3).reshape(128, BLOCKS * 16).astype(np.int32)
    np.testing.assert_array_equal(y.reshape(ROWS, -1), x.astype(np.int32) @ steps)


def test_its_code_is_compiled(match: IntrinsicMatch, intrinsic: Intrinsic) -> None:
    written = write_kernel(kernel_of(match), intrinsics=(AMX_BF16, intrinsic))
    head = f'target triple = "{SERVER_WITH_BYTES.triple}"'
    text = "\n".join([head, *sorted(written.declarations), written.text])
    assert used_in((AMX_BF16, intrinsic), [text]) == (intrinsic,)
    for module in (text, peak_text(intrinsic.peak, SERVER_WITH_BYTES)):
        assert "@llvm.x86.tdpbusd(" in module and "tdpbf16ps" not in module
        assert compile_text(module, SERVER_WITH_BYTES)


def test_its_costs_are_its_machines(match: IntrinsicMatch, intrinsic: Intrinsic) -> None:
    machine = replace(SERVER, intrinsics=(AMX_BF16, intrinsic))
    assert machine.intrinsic(intrinsic.pattern) is intrinsic
    assert 0 < least_tile_cycles(match, machine) < inf
    assert least_tile_cycles(match, SERVER) == inf
