"""Transposed convolutions: the phases of their results, filtered together."""

import random

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op.lower import lower_function
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.blocks import tile_counts
from relay_tune.schedule.rewrites.winograd.match_phases import match_filtered
from relay_tune.schedule.rewrites.winograd.phase import Phase
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.transforms import plane_filtering
from relay_tune.tensor.expression import literal
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from tests.schedule.convolutions import (
    SERVER,
    convolution_program,
    error_of_any_schedule,
    relative_error,
    winograds,
)
from tests.schedule.offered import algorithms
from tests.schedule.running import runnable_targets


def transposed(
    shape: tuple[int, int, int, int, int],
    *,
    kernel: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (2, 2),
    options: str = "padding=(1, 1, 1, 1), output_padding=(1, 1)",
    layout: str = "HWIO",
    constant: bool = False,
    relu: bool = False,
) -> TensorProgram:
    """A transposed convolution of (batch, rows, columns, inputs, outputs)."""
    batch, rows, columns, inputs, outputs = shape
    sizes = dict(zip("HWIO", (*kernel, inputs, outputs), strict=True))
    taps = ", ".join(str(sizes[letter]) for letter in layout)
    call = f"""nn.conv2d_transpose(%x, %w, strides={strides}, data_layout="NHWC",
        kernel_layout="{layout}", {options})"""
    module = rt.parse(f"""
        def @main(%x: Tensor[({batch}, {rows}, {columns}, {inputs}), float32],
                  %w: Tensor[({taps}), float32]) {{
          {f"nn.relu({call})" if relu else call}
        }}""")
    program = lower_function(rt.infer_types(module).main)
    if not constant:
        return program
    x, w = program.inputs
    values = np.random.default_rng(1).standard_normal(w.shape).astype(w.dtype)
    return TensorProgram((x,), program.outputs, ((w, values),))


def test_phases_have_the_taps_that_reach_them():
    found = match_filtered(transposed((1, 6, 5, 16, 16)).outputs[0])
    assert found.phases == ((Phase(1), Phase(2)),) * 2
    assert (found.tap_counts, found.filtering(2).products) == ((3, 3), 25)
    program = transposed((1, 4, 4, 16, 16), kernel=(4, 4), options="padding=(1, 1, 1, 1)")
    found = match_filtered(program.outputs[0])
    assert found.phases == ((Phase(2), Phase(2, 1)),) * 2
    assert found.filtering(2).products == 36
    dense = transposed((1, 4, 4, 16, 16), strides=(1, 1), options="padding=(1, 1, 1, 1)")
    assert match_filtered(dense.outputs[0]).filtering(4).products == 36


@pytest.mark.parametrize(
    "program",
    [
        transposed((1, 4, 4, 16, 16), kernel=(2, 2), options="padding=(0, 0)"),
        transposed((1, 4, 4, 8, 16)),
        transposed((1, 4, 4, 16, 16), options="dilation=(2, 2)"),
        transposed((1, 4, 4, 16, 16), kernel=(1, 1), options="padding=(0, 0)"),
        transposed((1, 4, 4, 32, 16), options="groups=2"),
    ],
    ids=["one tap each", "few channels", "dilation", "phases without taps", "groups"],
)
def test_others_are_left(program):
    assert match_filtered(program.outputs[0]) is None
    assert winograds(algorithms(program)) == []


@pytest.mark.parametrize(
    "phases",
    [(Phase(1), Phase(2)), (Phase(2), Phase(2, 1)), (Phase(3), Phase(2, 1), Phase(2, 1))],
    ids=str,
)
def test_results_of_phases_take_turns(phases):
    filtering = plane_filtering(2, 1, (phases, phases)).rows
    rng = np.random.default_rng(0)
    data = rng.standard_normal(filtering.window)
    taps = [rng.standard_normal(phase.taps) for phase in phases]

    def numbers(rows, values):
        found = rows([literal(value, "float64") for value in values])
        return np.array([float(scalar_value(each, {}, {})) for each in found])

    products = numbers(filtering.data, data) * (filtering.taps @ np.concatenate(taps))
    expected = [
        np.dot(data[position + phase.start :][: phase.taps], own)
        for position in range(2)
        for phase, own in zip(phases, taps, strict=True)
    ]
    assert np.allclose(numbers(filtering.result, products), expected, atol=1e-12)


CASES = {
    "odd sizes": ({"shape": (2, 5, 7, 17, 13), "relu": True}, WINOGRAD(tile=2)),
    "no padding": ({"shape": (1, 4, 6, 16, 16), "options": "padding=(0, 0)"}, WINOGRAD(tile=2)),
    "adjoint of data": ({"shape": (1, 4, 4, 32, 16), "layout": "HWOI"}, WINOGRAD(tile=2)),
    "constant taps": ({"shape": (1, 6, 6, 16, 20), "constant": True}, WINOGRAD(tile=2)),
    "even taps": (
        {"shape": (1, 6, 4, 16, 16), "kernel": (4, 4), "options": "padding=(1, 1, 1, 1)"},
        WINOGRAD(tile=2),
    ),
    "five taps": (
        {"shape": (1, 4, 5, 16, 16), "kernel": (5, 5), "options": "padding=(2, 2, 2, 2)"},
        WINOGRAD(tile=2),
    ),
    "one stride": (
        {"shape": (1, 6, 6, 16, 16), "strides": (1, 1), "options": ""},
        WINOGRAD(tile=4),
    ),
    "rows alone": (
        {"shape": (1, 5, 6, 16, 16), "kernel": (3, 1), "strides": (2, 1), "options": ""},
        WINOGRAD(tile=2),
    ),
    "blocks": ({"shape": (1, 8, 12, 16, 32)}, WINOGRAD(tile=2, block=12)),
    "a band below": ({"shape": (1, 9, 12, 16, 16)}, WINOGRAD(tile=2, block=12)),
    "images in blocks": ({"shape": (6, 4, 4, 16, 16), "relu": True}, WINOGRAD(tile=2, block=12)),
}


@pytest.mark.parametrize("case", CASES)
def test_native_code_agrees(case):
    options, algorithm = CASES[case]
    program = transposed(**options)
    assert algorithm in algorithms(program)
    targets = runnable_targets()
    target = targets[list(CASES).index(case) % len(targets)]
    assert relative_error(program, algorithm, target, 2) <= 4e-6


@pytest.mark.parametrize("seed", range(2))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = transposed((4, 4, 4, 16, rng.choice([16, 21])))
    algorithm = rng.choice([WINOGRAD(tile=2), WINOGRAD(tile=2, block=16)])
    assert error_of_any_schedule(program, algorithm, rng) <= 2e-6


def test_dimensions_may_be_one():
    module = rt.parse("""
        def @main(%x: Tensor[(2, 9, 16), float32], %w: Tensor[(4, 16, 16), float32]) {
          nn.conv1d_transpose(%x, %w, strides=2, padding=(1, 1), data_layout="NWC",
            kernel_layout="WIO")
        }""")
    program = lower_function(rt.infer_types(module).main)
    assert relative_error(program, WINOGRAD(tile=2), runnable_targets()[0], 2) <= 2e-6


def test_few_tiles_have_blocks_of_images():
    few = match_filtered(convolution_program((32, 4, 4, 64, 64), stride=2).outputs[0])
    assert tile_counts(few, few.filtering(2)) == [16]
    whole = match_filtered(transposed((8, 14, 14, 128, 64)).outputs[0])
    assert tile_counts(whole, whole.filtering(2)) == [49]


def test_too_many_tiles_are_not_one_block():
    assert winograds(algorithms(transposed((8, 14, 14, 128, 64)))) == [WINOGRAD(tile=2, block=49)]


def test_the_default_follows_the_work():
    plan = plan_program(transposed((1, 14, 14, 128, 128)))
    assert plan.default_schedule(SERVER, 1).algorithm in winograds(plan.algorithms)
    few = plan_program(transposed((1, 14, 14, 128, 4)))
    assert few.default_schedule(SERVER, 1).algorithm not in winograds(few.algorithms)
