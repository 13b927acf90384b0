"""Winograd's filtering of bytes: equal to int64 arithmetic, offered where sums have room."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.machine.pattern import PAIRS
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.winograd.integer_record import WINOGRAD_INTEGERS
from relay_tune.schedule.rewrites.winograd.integer_transforms import INTEGER_FILTERINGS, spare_bits
from relay_tune.schedule.rewrites.winograd.match import LARGEST_BYTE, match_convolution
from relay_tune.schedule.rewrites.winograd.numbers import INTEGERS
from relay_tune.schedule.rewrites.winograd.phase import Phase
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import plane_filtering, transformed_taps
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, cast, literal, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.running import run_schedule, runnable_targets

THREE_TAPS = ((Phase(3),), (Phase(3),))

ENDS = {"uint8": (0, 255, 1, 254), "int8": (-128, 127, 0, -127)}


def convolution(
    shape: tuple[int, int, int, int, int],
    taps: np.ndarray | None = None,
    *,
    data: str = "uint8",
    weights: str = "int8",
    bits: int = 0,
    constant: bool = True,
) -> TensorProgram:
    """A convolution of (batch, rows, columns, inputs, outputs), its data padded beforehand."""
    batch, rows, columns, inputs, outputs = shape
    x = input_tensor("x", (batch, rows + 2, columns + 2, inputs), data)
    g = input_tensor("g", (3, 3, inputs, outputs), weights)
    kh, kw, c = Axis("kh", 3), Axis("kw", 3), Axis("c", inputs)

    def element(n: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        value, factor = x[n, h + kh, w + kw, c], g[kh, kw, c, o]
        return reduce("sum", [c, kh, kw], cast(value, "int32") * cast(factor, "int32"), bits)

    y = compute("convolution", (batch, rows, columns, outputs), element)
    if not constant:
        return TensorProgram((x, g), (y,), ())
    if taps is None:
        taps = np.random.default_rng(0).choice(ENDS[weights], g.shape).astype(weights)
    return TensorProgram((x,), (y,), ((g, taps),))


def expected(program: TensorProgram, x: np.ndarray) -> np.ndarray:
    """The sums in int64."""
    ((_, taps),) = program.constants
    rows, columns = program.outputs[0].shape[1:3]
    wide = x.astype(np.int64)
    return sum(
        wide[:, i : i + rows, j : j + columns] @ np.asarray(taps, np.int64)[i, j]
        for i, j in product(range(3), repeat=2)
    )


def data_of(program: TensorProgram, seed: int = 1) -> np.ndarray:
    (x,) = program.inputs
    return np.random.default_rng(seed).choice(ENDS[x.dtype], x.shape).astype(x.dtype)


def check(program: TensorProgram, tile: int, x: np.ndarray) -> None:
    """The stages of an algorithm, evaluated in numpy, have the sums of int64."""
    found = winograd_program(program, tile, numbers=INTEGERS)
    assert found is not None
    (values,) = evaluate(found.outputs, {found.inputs[0]: x, **found.constant_arrays()})
    np.testing.assert_array_equal(values, expected(program, x))


@pytest.mark.parametrize("data", ENDS)
@pytest.mark.parametrize("weights", ENDS)
@pytest.mark.parametrize("tile", [2, 4])
def test_stages_compute_the_sums_of_int64(tile: int, data: str, weights: str) -> None:
    program = convolution((2, 5, 6, 17, 3), data=data, weights=weights)
    check(program, tile, data_of(program))


@pytest.mark.parametrize("data", ENDS)
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("sign", [0, 1])
def test_the_largest_sums_that_have_room_are_right(tile: int, data: str, sign: int) -> None:
    """As many channels as the types alone allow, all at one end; one more is refused."""
    filtering = plane_filtering(tile, 1, THREE_TAPS, INTEGER_FILTERINGS)
    largest = (1 << (31 - spare_bits(filtering))) - 1
    channels = largest // (9 * 128 * LARGEST_BYTE[data])
    weight = ENDS["int8"][sign]
    for inputs, has_room in ((channels, True), (channels + 1, False)):
        taps = np.full((3, 3, inputs, 1), weight, np.int8)
        program = convolution((1, 2, 3, inputs, 1), taps, data=data)
        found = match_convolution(program.outputs[0], INTEGERS)
        assert (found.filtering(tile) is not None) is has_room
        if has_room:
            x = np.full(program.inputs[0].shape, max(ENDS[data], key=abs), data)
            check(program, tile, x)


def test_what_transforms_leave_fits_int16() -> None:
    for filtering in INTEGER_FILTERINGS.values():
        units = [[literal(float(i == k), "float64") for i in range(6)] for k in range(6)]
        window = range(filtering.window)
        matrix = np.array(
            [[scalar_value(e, {}, {}) for e in filtering.data(units[k])] for k in window]
        ).T
        data = np.einsum("ij,kl->ikjl", matrix, matrix)
        for low, high in ((0, 255), (-128, 127)):
            ends = np.where(data > 0, high, low), np.where(data > 0, low, high)
            extremes = [np.sum(data * each, axis=(2, 3)) for each in ends]
            assert np.abs(extremes).max() <= np.iinfo(np.int16).max
        assert np.abs(filtering.taps).sum(axis=1).max() ** 2 * 255 <= np.iinfo(np.int16).max


def test_transformed_taps_are_exact() -> None:
    taps = np.random.default_rng(2).integers(-128, 128, (3, 3, 4, 5)).astype(np.int8)
    filtering = plane_filtering(4, 1, THREE_TAPS, INTEGER_FILTERINGS)
    found = transformed_taps(filtering, taps, np.dtype(np.int16))
    matrix = INTEGER_FILTERINGS[4, 3, 1].taps
    whole = np.einsum("ia,jb,abco->ijco", matrix, matrix, taps.astype(np.int64))
    np.testing.assert_array_equal(found, whole.reshape(found.shape))


@pytest.mark.parametrize(
    ("channels", "bits", "tile"),
    [(64, 0, 4), (128, 0, 2), (128, 26, 4), (128, 27, 2), (128, 31, 2), (2048, 31, None)],
)
def test_tiles_are_offered_for_which_sums_have_room(
    channels: int, bits: int, tile: int | None
) -> None:
    plan = plan_program(convolution((1, 8, 8, channels, 16), bits=bits))
    own = [each for each in plan.algorithms if "winograd" in str(each)]
    assert own[:1] == ([] if tile is None else [WINOGRAD_INTEGERS(tile=tile)])
    assert all(f"tile={tile}" in str(each) for each in own)


def test_layers_whose_filtered_taps_are_large_are_summed_directly() -> None:
    plan = plan_program(convolution((1, 8, 8, 256, 256), bits=26))
    assert not any("winograd" in str(each) for each in plan.algorithms)


def test_taps_that_are_arguments_are_summed_directly() -> None:
    plan = plan_program(convolution((1, 8, 8, 16, 16), constant=False))
    assert not any("winograd" in str(each) for each in plan.algorithms)


def test_it_needs_an_instruction_for_pairs() -> None:
    algorithm = WINOGRAD_INTEGERS(tile=4)
    assert algorithm.can_run(replace(SERVER, dot_products=(PAIRS.name,)))
    assert not algorithm.can_run(replace(SERVER, dot_products=()))


@pytest.mark.parametrize(
    ("shape", "algorithm", "number"),
    [
        ((2, 7, 5, 19, 16), WINOGRAD_INTEGERS(tile=2), 0),
        ((1, 9, 16, 32, 17), WINOGRAD_INTEGERS(tile=4, block=8), 0),
        ((1, 8, 8, 16, 33), WINOGRAD_INTEGERS(tile=4), 1),
    ],
)
def test_native_code_is_equal(
    shape: tuple[int, int, int, int, int], algorithm: AppliedAlgorithm, number: int
) -> None:
    targets = runnable_targets()
    target = targets[number % len(targets)]
    program = convolution(shape)
    plan, x = plan_program(program, algorithm), data_of(program)
    schedule = plan.default_under_algorithm(machine_of(target), 2)[1]
    (found,) = run_schedule(plan, schedule, target, {program.inputs[0]: x}, threads=2)
    np.testing.assert_array_equal(found, expected(program, x))


def test_the_estimate_prefers_it_where_multiplications_decide() -> None:
    plan = plan_program(convolution((1, 56, 56, 64, 64)))
    machine = machine_of(parse_target("x86_64-linux-gnu:znver4"))
    assert "winograd_s16(tile=4" in str(plan.default_schedule(machine, 1).algorithm)
