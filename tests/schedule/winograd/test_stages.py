import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.algorithms import WINOGRAD, algorithms, prepared_program
from relay_tune.schedule.apply import Plan, apply_schedule, plan_program, read_schedule
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.schedule import DIRECT, Schedule
from relay_tune.schedule.winograd.stages import winograd_program
from relay_tune.schedule.winograd.transforms import FILTERINGS, transformed_taps
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import run_schedule, runnable_targets

SERVER = Machine(64, 32)
EPILOGUES = ("none", "bias and relu", "residual", "pad", "sigmoid times itself")


def convolution_program(
    shape: tuple[int, int, int, int, int],
    *,
    kernel: tuple[int, int] = (3, 3),
    stride: int = 1,
    dilation: int = 1,
    dtype: str = "float32",
    constant: bool = True,
    layout: str = "HWIO",
    epilogue: str = "none",
) -> TensorProgram:
    """A convolution of (batch, rows, columns, inputs, outputs), its data padded beforehand."""
    batch, rows, columns, inputs, outputs = shape
    reach = [(k - 1) * dilation for k in kernel]
    extents = ((rows - 1) * stride + reach[0] + 1, (columns - 1) * stride + reach[1] + 1)
    sizes = dict(zip("HWIO", (*kernel, inputs, outputs), strict=True))
    rng = np.random.default_rng(sum(shape))
    x = input_tensor("x", (batch, *extents, inputs), dtype)
    g = input_tensor("g", [sizes[letter] for letter in layout], dtype)
    kh, kw, c = Axis("kh", kernel[0]), Axis("kw", kernel[1]), Axis("c", inputs)

    def element(n: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        tap = dict(zip("HWIO", (kh, kw, c, o), strict=True))
        value = x[n, h * stride + kh * dilation, w * stride + kw * dilation, c]
        return reduce("sum", [c, kh, kw], value * g[tuple(tap[letter] for letter in layout)])

    y: Tensor = compute("convolution", (batch, rows, columns, outputs), element)
    inputs_ = [x]
    if epilogue == "residual":
        inputs_.append(input_tensor("residual", y.shape, dtype))
    y = with_epilogue(y, epilogue, inputs_[-1])
    taps = rng.standard_normal(g.shape).astype(dtype)
    if not constant:
        return TensorProgram((*inputs_, g), (y,), ())
    return TensorProgram(tuple(inputs_), (y,), ((g, taps),))


def with_epilogue(y: Tensor, epilogue: str, other: Tensor) -> Tensor:
    match epilogue:
        case "bias and relu":
            return compute("relu", y.shape, lambda *i: binary("max", y[i] + 0.5, 0.0))
        case "residual":
            return compute("add", y.shape, lambda *i: y[i] + other[i])
        case "sigmoid times itself":
            return compute("swish", y.shape, lambda *i: y[i] * unary("sigmoid", y[i]))
        case "pad":
            n, h, w, o = y.shape
            return compute("pad", (n, h + 2, w + 3, o), lambda *i: _padded(y, *i))
    return y


def _padded(y: Tensor, n: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
    bounds = [binary("ge", h, 1), binary("lt", h, y.shape[1] + 1)]
    bounds += [binary("ge", w, 2), binary("lt", w, y.shape[2] + 2)]
    inside = bounds[0]
    for bound in bounds[1:]:
        inside = binary("and", inside, bound)
    return select(inside, y[n, h - 1, w - 2, o], 0.0)


def feeds_of(program: TensorProgram, seed: int = 0) -> dict[Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in program.inputs}


def relative_error(program: TensorProgram, algorithm: str, target: object, threads: int) -> float:
    """The largest difference between an algorithm's code and numpy, relative to the largest."""
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **dict(program.constants)})
    plan = plan_program(program, algorithm)
    schedule = plan_schedule(plan)
    constants = dict(plan.program.constants)
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=threads)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def plan_schedule(plan: Plan) -> Schedule:
    """The default schedule of a plan under its own algorithm."""
    return plan.default_under_algorithm(SERVER, 2)[1]


# The transforms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", FILTERINGS)
def test_one_dimensional_filtering(outputs):
    filtering = FILTERINGS[outputs]
    rng = np.random.default_rng(1)
    data, taps = rng.standard_normal(filtering.window), rng.standard_normal(3)
    literals = [literal(value, "float64") for value in data]
    transformed = [float(scalar_value(e, {}, {})) for e in filtering.data(literals)]
    product = [
        literal(a * b, "float64") for a, b in zip(transformed, filtering.taps @ taps, strict=True)
    ]
    result = [float(scalar_value(e, {}, {})) for e in filtering.result(product)]
    assert np.allclose(result, np.correlate(data, taps), atol=1e-12)


def test_transformed_taps():
    taps = np.random.default_rng(2).standard_normal((3, 3, 4, 5))
    found = transformed_taps(FILTERINGS[4], taps)
    matrix = FILTERINGS[4].taps
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
}
DOES_NOT_APPLY = {
    "stride": {"stride": 2},
    "dilation": {"dilation": 2},
    "a row of taps": {"kernel": (1, 3)},
    "five rows": {"kernel": (5, 3)},
    "few channels": {"shape": (1, 8, 8, 15, 16)},
    "a single row": {"shape": (1, 1, 8, 16, 16)},
    "double precision": {"dtype": "float64"},
    "variable taps": {"constant": False},
}


@pytest.mark.parametrize("case", APPLIES)
def test_applies(case):
    options = {"shape": SHAPE, **APPLIES[case]}
    program = convolution_program(**options)
    assert algorithms(program) == (DIRECT, *WINOGRAD)
    changed = winograd_program(program, 4)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **dict(program.constants)})
    (found,) = evaluate(changed.outputs, {**feeds, **dict(changed.constants)})
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


@pytest.mark.parametrize("case", DOES_NOT_APPLY)
def test_does_not_apply(case):
    program = convolution_program(**{"shape": SHAPE, **DOES_NOT_APPLY[case]})
    assert algorithms(program) == (DIRECT,)
    assert winograd_program(program, 2) is None
    with pytest.raises(InputError, match="does not apply"):
        prepared_program(program, "winograd2")


def test_the_old_taps_are_gone():
    program = convolution_program(SHAPE)
    (constant,) = prepared_program(program, "winograd4").constants
    assert constant[1].shape == (36, 16, 16)


def test_constants_correspond_whatever_their_values():
    program = convolution_program(SHAPE)
    ((tensor, data),) = program.constants
    zeros = TensorProgram(program.inputs, program.outputs, ((tensor, np.zeros_like(data)),))
    for algorithm in WINOGRAD:
        first, second = (prepared_program(p, algorithm).constants for p in (program, zeros))
        assert [d.shape for _, d in first] == [d.shape for _, d in second]
        assert not second[0][1].any()


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
TOLERANCES = {"winograd2": 2e-6, "winograd4": 2e-5}


@pytest.mark.parametrize("algorithm", WINOGRAD)
@pytest.mark.parametrize("shape", SHAPES)
def test_native_code_agrees(shape, algorithm):
    program = convolution_program(shape)
    target = runnable_targets()[0]
    assert relative_error(program, algorithm, target, 2) <= TOLERANCES[algorithm]


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_epilogues_join_the_transform_of_the_result(epilogue):
    program = convolution_program((1, 10, 11, 16, 16), epilogue=epilogue)
    plan = plan_program(program, "winograd4")
    kernels = len(apply_schedule(plan, plan_schedule(plan)).kernels)
    assert kernels == 3
    assert relative_error(program, "winograd4", runnable_targets()[0], 1) <= 2e-5


@pytest.mark.parametrize("algorithm", WINOGRAD)
def test_other_targets(algorithm):
    program = convolution_program((2, 9, 7, 16, 20), epilogue="pad")
    for target in runnable_targets():
        assert relative_error(program, algorithm, target, 3) <= TOLERANCES[algorithm]


# Schedules ---------------------------------------------------------------------------------------


def test_schedules_name_their_algorithm():
    plan = plan_program(convolution_program((1, 14, 14, 64, 64)))
    for algorithm in (DIRECT, *WINOGRAD):
        schedule = plan_schedule(plan.with_algorithm(algorithm))
        text = schedule.to_json()
        assert ("algorithm" in text) == (algorithm != DIRECT)
        assert read_schedule(text, plan) == schedule
        assert apply_schedule(plan, schedule).algorithm == algorithm


def test_plans_of_algorithms_are_made_once():
    plan = plan_program(convolution_program(SHAPE))
    other = plan.with_algorithm("winograd2")
    assert other.algorithm == "winograd2"
    assert plan.with_algorithm("winograd2") is other
    assert plan.with_algorithm(DIRECT) is plan


@pytest.mark.parametrize("name", ['"winograd3"', '""', "3", "null", "[]"])
def test_unknown_algorithms_are_refused(name):
    plan = plan_program(convolution_program(SHAPE))
    with pytest.raises(InputError):
        read_schedule(f'{{"algorithm": {name}, "nests": []}}', plan)


def test_the_default_follows_the_work():
    large = plan_program(convolution_program((1, 28, 28, 128, 128)))
    assert large.default_schedule(SERVER, 1).algorithm == "winograd4"
    narrow = plan_program(convolution_program((1, 56, 56, 16, 1)))
    assert narrow.default_schedule(SERVER, 1).algorithm == DIRECT
