"""Products with weights of few bits by the digits of data."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.quantized_rows.record import DIGITS
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule import products
from tests.schedule.machines import with_registers
from tests.schedule.running import run_schedule, runnable_targets

COOPERLAKE = machine_of(parse_target("x86_64-linux-gnu:cooperlake"))
HASWELL = machine_of(parse_target("x86_64-linux-gnu:haswell"))
BY_PATTERN = {each.name: each for each in DIGITS}

PROGRAMS = {
    "2 bits": lambda: products.stored(1, 64, 33, bits=2),
    "4 bits": lambda: products.stored(1, 64, 96, bits=4),
    "4 bits, zero points": lambda: products.stored(1, 96, 50, bits=4, zero=-3),
    "8 bits": lambda: products.stored(1, 64, 48, in_word=4),
    "short blocks": lambda: products.stored(1, 48, 32, block=16, bits=4),
}


def data_of(program: TensorProgram) -> np.ndarray:
    """Normal numbers, one of them much larger, so that the others of its block lose most."""
    (x,) = program.inputs
    data = np.random.default_rng(3).standard_normal(x.shape).astype(np.float32)
    data[:, 5] *= 100
    return data


def exact(program: TensorProgram, data: np.ndarray) -> np.ndarray:
    weights = next(each for each in tensors_in_order(program.outputs) if each.name == "w")
    (found,) = evaluate([weights], program.constant_arrays())
    return np.maximum(data.astype(np.float64) @ found.T.astype(np.float64) + 0.5, 0)


def offered(plan: Plan) -> list[AppliedAlgorithm]:
    rewrites = ((each, each.rewrites[0].algorithm) for each in plan.algorithms if each.rewrites)
    return [each for each, algorithm in rewrites if algorithm in DIGITS]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [*((name, "digits_u8s8") for name in PROGRAMS), ("4 bits, zero points", "digits_s8s8")],
)
def test_errors_are_those_of_sums_in_float32(name: str, pattern: str) -> None:
    program = PROGRAMS[name]()
    (x,), data = program.inputs, data_of(program)
    expected = exact(program, data)
    own = plan_program(program).with_algorithm(BY_PATTERN[pattern](columns=32))
    (stages,) = evaluate(own.program.outputs, {x: data, **own.program.constant_arrays()})
    for target in runnable_targets():
        schedule = own.default_under_algorithm(with_registers(machine_of(target), 8), 1)[1]
        (found,) = run_schedule(own, schedule, target, {x: data})
        for each in (stages, found):
            np.testing.assert_allclose(each, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_infinite_or_nan_leaves_no_finite_result(value: float) -> None:
    program = products.stored(1, 64, 48, bits=4)
    (x,), data = program.inputs, data_of(program)
    data[0, 7] = value
    own = plan_program(program).with_algorithm(offered(plan_program(program))[0])
    for target in runnable_targets():
        schedule = own.default_under_algorithm(with_registers(machine_of(target), 8), 1)[1]
        (found,) = run_schedule(own, schedule, target, {x: data})
        assert not np.any(np.isfinite(found) & (found != 0))  # 0 is the maximum with -inf


def test_one_row_from_memory_is_computed_so() -> None:
    plan = plan_program(products.stored(1, 768, 3072, bits=4))
    assert plan.default_schedule(COOPERLAKE, 1).algorithm in offered(plan)
    assert not set(plan.algorithms_on(HASWELL)) & set(offered(plan))
    assert not offered(plan.with_accuracy(Accuracy.EXACT))


@pytest.mark.parametrize(
    "program",
    [products.stored(8, 64, 96, bits=4), products.stored(1, 64, 96), products.dense(1, 64, 96)],
    ids=["eight rows", "bytes that are no words", "floats"],
)
def test_others_keep_floats(program: TensorProgram) -> None:
    assert not offered(plan_program(program))


def test_it_reads_the_constants_that_several_rows_read() -> None:
    few = plan_program(products.stored(8, 256, 192, bits=4))
    direct = Schedule(few.default_under_algorithm(COOPERLAKE, 1)[1].choices)
    algorithm = DIGITS[0](columns=48)
    packing = Schedule(algorithm.packing(direct.choices) or ())
    one = plan_program(products.stored(1, 256, 192, bits=4)).with_packing(packing)
    assert {DIRECT, algorithm} == {each for each in one.algorithms if "s8s8" not in str(each)}
    schedule = one.with_algorithm(algorithm).default_under_algorithm(COOPERLAKE, 1)[1]
    recipes = [
        {packed.recipe.merged for packed in apply_schedule(plan, each).packed}
        for plan, each in ((few, packing), (one, schedule))
    ]
    assert recipes[0] == recipes[1]


def test_sums_of_all_digits_stay_in_registers() -> None:
    plan = plan_program(products.stored(1, 768, 1536, bits=4))
    assert {str(each) for each in offered(plan)} == {
        f"{name}(columns={columns})"
        for name in ("digits_u8s8", "digits_s8s8")
        for columns in (16, 32, 48, 64)
    }
