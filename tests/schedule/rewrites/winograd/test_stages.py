import json
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import (
    FILTERINGS,
    transformed_taps,
)
from relay_tune.tensor.deferred_array import array_of, deferred
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, literal, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import (
    EPILOGUES,
    SERVER,
    TILES,
    convolution_program,
    feeds_of,
    filtering_of,
    plan_schedule,
    relative_error,
    tolerance_of,
)
from tests.schedule.offered import PLAIN_SUMS, algorithms
from tests.schedule.running import run_schedule, runnable_targets

# The transforms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", FILTERINGS)
def test_one_dimensional_filtering(key):
    filtering = FILTERINGS[key]
    rng = np.random.default_rng(1)
    data, taps = rng.standard_normal(filtering.window), rng.standard_normal(key[1])
    literals = [literal(value, "float64") for value in data]
    transformed = [float(scalar_value(e, {}, {})) for e in filtering.data(literals)]
    product = [
        literal(a * b, "float64") for a, b in zip(transformed, filtering.taps @ taps, strict=True)
    ]
    result = [float(scalar_value(e, {}, {})) for e in filtering.result(product)]
    assert np.allclose(result, np.correlate(data, taps)[:: key[2]], atol=1e-12)


def test_transformed_taps():
    taps = np.random.default_rng(2).standard_normal((3, 3, 4, 5))
    found = transformed_taps(filtering_of(4, 1, (3, 3)), taps)
    matrix = FILTERINGS[4, 3, 1].taps
    assert found.shape == (36, 4, 5)
    assert np.allclose(found[1 * 6 + 4, 2, 3], (matrix @ taps[:, :, 2, 3] @ matrix.T)[1, 4])


# What is replaced --------------------------------------------------------------------------------

SHAPE = (1, 8, 8, 16, 16)
APPLIES = {
    "plain": {},
    "taps as OIHW": {"layout": "OIHW"},
    "taps as OHWI": {"layout": "OHWI"},
    "batch": {"shape": (3, 4, 9, 20, 3)},
    "epilogue": {"epilogue": "bias and relu"},
    "taps that are an argument": {"constant": False},
}
DOES_NOT_APPLY = {
    "stride 3": {"stride": 3},
    "a stride and a dilation": {"stride": 2, "dilation": 2},
    "taps farther apart than rows": {"dilation": 8},
    "no taps": {"kernel": (1, 1)},
    "five rows": {"kernel": (5, 3)},
    "few channels": {"shape": (1, 8, 8, 15, 16)},
    "a single row": {"shape": (1, 1, 8, 16, 16)},
    "double precision": {"dtype": "float64"},
}


@pytest.mark.parametrize("case", APPLIES)
def test_applies(case):
    options = {"shape": SHAPE, **APPLIES[case]}
    program = convolution_program(**options)
    assert set(TILES) < set(algorithms(program))
    changed = winograd_program(program, 4)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


@pytest.mark.parametrize("stride", [1, 2])
def test_does_not_apply_to_channels_that_are_not_summed(stride):
    x = input_tensor("x", (1, 2 * 16 + 2, 2 * 16 + 2, 32), "float32")
    g = input_tensor("g", (3, 3, 1, 32), "float32")
    kh, kw, one = Axis("kh", 3), Axis("kw", 3), Axis("one", 1)

    def element(n, h, w, o):
        value = x[n, h * stride + kh, w * stride + kw, o]
        return reduce("sum", [one, kh, kw], value * g[kh, kw, one, o])

    depthwise = compute("depthwise", (1, 16, 16, 32), element)
    program = TensorProgram((x,), (depthwise,), ((g, np.ones(g.shape, "float32")),))
    assert algorithms(program) == (DIRECT,)


@pytest.mark.parametrize("case", DOES_NOT_APPLY)
def test_does_not_apply(case):
    program = convolution_program(**{"shape": SHAPE, **DOES_NOT_APPLY[case]})
    assert set(algorithms(program)) <= PLAIN_SUMS
    assert winograd_program(program, 2) is None
    with pytest.raises(InputError, match="does not apply"):
        WINOGRAD(tile=2).prepared(program)


def test_the_old_taps_are_gone():
    program = convolution_program(SHAPE)
    (constant,) = WINOGRAD(tile=4).prepared(program).constants
    assert constant[1].shape == (36, 16, 16)


def test_constants_correspond_whatever_their_values():
    program = convolution_program(SHAPE)
    ((tensor, data),) = program.constants
    zeros = TensorProgram(program.inputs, program.outputs, ((tensor, np.zeros_like(data)),))
    for algorithm in TILES:
        first, second = (algorithm.prepared(p).constants for p in (program, zeros))
        assert [d.shape for _, d in first] == [d.shape for _, d in second]
        assert not array_of(second[0][1]).any()


def test_planning_computes_no_taps():
    program = convolution_program(SHAPE)
    ((tensor, data),) = program.constants
    wanted = []

    def taps():
        wanted.append(True)
        return data

    unknown = deferred(tensor.shape, tensor.dtype, taps)
    (constant,) = plan_program(
        replace(program, constants=((tensor, unknown),)), WINOGRAD(tile=4)
    ).program.constants
    assert not wanted
    assert array_of(constant[1]).shape == (36, 16, 16) and wanted


# Generated code ----------------------------------------------------------------------------------

SHAPES = [
    (1, 7, 7, 16, 16),
    (1, 14, 14, 32, 24),
    (2, 13, 6, 17, 9),
    (1, 27, 2, 16, 33),
    (2, 4, 4, 48, 1),
    (1, 3, 5, 16, 16),
    (1, 12, 16, 32, 16),
]


@pytest.mark.parametrize("algorithm", TILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_native_code_agrees(shape, algorithm):
    program = convolution_program(shape)
    target = runnable_targets()[0]
    assert relative_error(program, algorithm, target, 2) <= tolerance_of(algorithm)


@pytest.mark.parametrize("algorithm", TILES)
def test_errors_are_small_beside_the_largest_result_of_their_tile(algorithm):
    program = convolution_program((2, 8, 8, 256, 16))
    ((weight, _),) = program.constants
    taps = np.random.default_rng(1).standard_normal(weight.shape).astype("float32")
    plan = plan_program(replace(program, constants=((weight, taps),)), algorithm)
    feeds = feeds_of(program)
    known = {**feeds, **plan.program.constant_arrays()}
    (found,) = run_schedule(plan, plan_schedule(plan), runnable_targets()[0], known)
    (data,) = (array.astype("float64") for array in feeds.values())
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3), axis=(1, 2))
    expected = np.einsum("nhwcij,ijco->nhwo", windows, taps.astype("float64"))

    def largest(values):
        return np.abs(values).reshape(2, 2, 4, 2, 4, 16).max((2, 4, 5))

    assert (largest(found - expected) / largest(expected)).max() <= 6e-6


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_epilogues_join_the_transform_of_the_result(epilogue):
    program = convolution_program((1, 10, 11, 16, 16), epilogue=epilogue)
    plan = plan_program(program, WINOGRAD(tile=4))
    kernels = len(apply_schedule(plan, plan_schedule(plan)).kernels)
    assert kernels == 3
    assert relative_error(program, WINOGRAD(tile=4), runnable_targets()[0], 1) <= 2e-5


@pytest.mark.parametrize("algorithm", TILES)
def test_other_targets(algorithm):
    program = convolution_program((2, 9, 7, 16, 20), epilogue="pad")
    for target in runnable_targets():
        assert relative_error(program, algorithm, target, 3) <= tolerance_of(algorithm)


# Schedules ---------------------------------------------------------------------------------------


def test_schedules_name_their_algorithm():
    plan = plan_program(convolution_program((1, 14, 14, 64, 64)))
    for algorithm in (DIRECT, *TILES):
        schedule = plan_schedule(plan.with_algorithm(algorithm))
        text = schedule.to_json()
        assert ("algorithm" in text) == (algorithm != DIRECT)
        assert read_schedule(text, plan) == schedule
        assert apply_schedule(plan, schedule).algorithm == algorithm


def test_plans_of_algorithms_are_made_once():
    plan = plan_program(convolution_program(SHAPE))
    other = plan.with_algorithm(WINOGRAD(tile=2))
    assert other.algorithm == WINOGRAD(tile=2)
    assert plan.with_algorithm(WINOGRAD(tile=2)) is other
    assert plan.with_algorithm(DIRECT) is plan


@pytest.mark.parametrize("form", [{"name": "winograd", "tile": 3}, {"name": "x"}, {}, "winograd"])
def test_unknown_algorithms_are_refused(form):
    plan = plan_program(convolution_program(SHAPE))
    with pytest.raises(InputError):
        read_schedule(json.dumps({"algorithm": [form], "nests": []}), plan)


def test_the_default_follows_the_work():
    large = plan_program(convolution_program((1, 28, 28, 128, 128)))
    assert large.default_schedule(SERVER, 1).algorithm == WINOGRAD(tile=4)
    narrow = plan_program(convolution_program((1, 56, 56, 16, 1)))
    assert narrow.default_schedule(SERVER, 1).algorithm == DIRECT
