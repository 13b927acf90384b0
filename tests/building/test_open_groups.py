"""Convolutions in groups over images of dynamic size: a vector has lanes of several groups."""

from collections.abc import Iterator

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.primitives import primitives_of
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)


def convolution(width: int, channels: int = 40) -> Module:
    """Of groups of so many channels, which are last."""
    text = (
        f"def @main(%x: Tensor[(n, h, w, {channels}), float32],"
        f" %c: Tensor[(3, 3, {width}, {channels}), float32]) {{"
        f"  nn.conv2d(%x, %c, groups={channels // width}, channels={channels}, "
        'kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO")'
        "}"
    )
    taps = RNG.standard_normal((3, 3, width, channels)).astype("float32")
    return BindParameters({"c": taps})(parse(text))


def code(module: Module, schedule: str) -> Iterator[str]:
    """What is written for the kernels of a module under a schedule."""
    fused = program_module(infer_types(module))
    target = parse_target("x86_64-linux-gnu:skylake-avx512")
    for primitive in primitives_of(program_kernels(lower_program(fused))).values():
        plan = plan_program(primitive.program)
        scheduled = apply_schedule(plan, read_schedule(schedule, plan), prefix="kernel")
        yield module_text(scheduled.kernels, target)


@pytest.mark.parametrize("tile", [[1, 4, 1, 16], [1, 1, 4, 16]])
def test_rows_of_open_length_share_loads(tile: list[int]) -> None:
    """Two groups in a vector are a load and a shuffle, also where the next row is a size apart."""
    nest = (
        '{"nests":[{"blocks":[1,1,1,1],"lanes":16,"order":[0,1,2,3],"parallel":4,"prefetch":false,'
        f'"reduction_order":[1,2,0],"tile":{tile},"unroll":24,"vector":3}}]}}'
    )
    (text,) = code(convolution(8), nest)
    assert "llvm.masked.gather" not in text
    assert "shufflevector" in text


@pytest.mark.parametrize("width", [4, 8])
def test_groups_are_convolved(width: int) -> None:
    module = convolution(width)
    model = build(module, threads=1)
    for images, height, ends in ((1, 3, 3), (2, 11, 7), (1, 4, 20), (3, 6, 3)):
        x = RNG.standard_normal((images, height, ends, 40)).astype("float32")
        np.testing.assert_allclose(model(x), interpret(module, x), rtol=1e-4, atol=1e-4)
