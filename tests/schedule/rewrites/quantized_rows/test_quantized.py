"""Products with weights of few bits whose data are rounded to bytes, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy, is_allowed
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.packing import PackRecipe
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.quantized_rows.record import QUANTIZED
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input
from tests.schedule import products
from tests.schedule.machines import with_registers
from tests.schedule.running import run_schedule, runnable_targets

NATIVE = native_target()
COOPERLAKE = machine_of(parse_target("x86_64-linux-gnu:cooperlake"))
HASWELL = machine_of(parse_target("x86_64-linux-gnu:haswell"))
BY_PATTERN = {each.name: each for each in QUANTIZED}

PROGRAMS: dict[str, Callable[[], TensorProgram]] = {
    "8 bits": lambda: products.stored(33, 96, 64),
    "8 bits, zero points": lambda: products.stored(19, 64, 48, zero=3),
    "8 bits without signs": lambda: products.stored(18, 64, 48, zero=128, dtype="uint8"),
    "4 bits": lambda: products.stored(40, 64, 96, bits=4),
    "few rows of 4 bits": lambda: products.stored(3, 64, 96, bits=4),
    "few rows of 2 bits": lambda: products.stored(5, 64, 32, bits=2),
    "few rows of 4 bits, zero points": lambda: products.stored(7, 96, 48, bits=4, zero=-3),
    "few rows of 8 bits": lambda: products.stored(4, 64, 48),
    "one row of 8 bits in words": lambda: products.stored(1, 64, 48, in_word=4),
    "8 bits in words": lambda: products.stored(33, 64, 48, in_word=4),
    "short blocks": lambda: products.stored(17, 48, 32, block=16, bits=4),
    "long blocks": lambda: products.stored(21, 128, 32, block=64),
    "one block": lambda: products.stored(16, 32, 16),
}


def feeds_of(program: TensorProgram) -> dict[Input, np.ndarray]:
    rng = np.random.default_rng(3)
    return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in program.inputs}


def offered(plan: Plan) -> list[AppliedAlgorithm]:
    rewrites = ((each, each.rewrites[0].algorithm) for each in plan.algorithms if each.rewrites)
    return [each for each, algorithm in rewrites if algorithm in QUANTIZED]


def relaxed(program: TensorProgram) -> Plan:
    return plan_program(program).with_accuracy(Accuracy.RELAXED)


def rounded(data: np.ndarray, block: int) -> np.ndarray:
    """Rows as multiples of a 127th of the largest number of each block."""
    blocks = data.astype(np.float64).reshape(len(data), -1, block)
    scale = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True), 1e-30) / 127
    return (np.round(blocks / scale) * scale).reshape(data.shape)


def of_rounded_data(program: TensorProgram, data: np.ndarray) -> np.ndarray:
    """What a program gives of rounded data."""
    (x,) = program.inputs
    scales = next(w for w in program.constant_arrays().values() if w.dtype == np.float32)
    block = next(n for n in (32, 16) if (data.shape[1] // scales.shape[1]) % n == 0)
    given = {x: rounded(data, block).astype(np.float32)}
    (found,) = evaluate(program.outputs, {**given, **program.constant_arrays()})
    return np.asarray(found, np.float64)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pattern", BY_PATTERN)
def test_they_are_products_of_rounded_data(name: str, pattern: str) -> None:
    """As stages, and as code with the instruction or without it."""
    program = PROGRAMS[name]()
    feeds, plan = feeds_of(program), relaxed(program)
    expected = of_rounded_data(program, feeds[program.inputs[0]])
    bound = 2e-3 * np.abs(expected).max()  # a number at the middle of two may become either
    columns = next(c for c in (48, 32, 16) if program.outputs[0].shape[1] % c == 0)
    own = plan.with_algorithm(BY_PATTERN[pattern](columns=columns))
    assert any(isinstance(step, RowBlocks) for step in own.steps)
    (stages,) = evaluate(own.program.outputs, {**feeds, **own.program.constant_arrays()})
    assert np.abs(stages - expected).max() <= bound
    for target in runnable_targets():
        machine = with_registers(machine_of(target), 8)
        schedule = own.default_under_algorithm(machine, 2)[1]
        for threads in (1, 3):
            (found,) = run_schedule(own, schedule, target, feeds, threads=threads)
            np.testing.assert_allclose(found, stages, rtol=1e-5, atol=1e-4)


def test_the_error_is_half_a_step_of_the_largest_number_of_a_block() -> None:
    """A bound for each result: the sum of |weights| times half a scale, and no more."""
    program = products.stored(64, 256, 96, bits=4)
    (x,) = program.inputs
    data = np.random.default_rng(7).standard_normal(x.shape).astype(np.float32)
    data[:, ::50] *= 100  # one number that is much larger than those beside it
    plan = relaxed(program)
    own = plan.with_algorithm(offered(plan)[0])
    schedule = own.default_under_algorithm(machine_of(NATIVE), 1)[1]
    (found,) = run_schedule(own, schedule, NATIVE, {x: data})
    (exact,) = evaluate(program.outputs, {x: data, **program.constant_arrays()})
    (weights,) = evaluate([weights_of(program)], program.constant_arrays())
    steps = np.abs(data.reshape(64, -1, 32)).max(axis=-1) / 127
    sizes = np.abs(weights).reshape(96, -1, 32).sum(axis=-1)
    bound = 0.5 * steps @ sizes.T
    assert np.all(np.abs(found - exact) <= 1.001 * bound + 1e-4)
    assert np.abs(found - exact).max() > 1e-3


def weights_of(program: TensorProgram) -> Tensor:
    """The stage that converts the weights."""
    return next(each for each in tensors_in_order(program.outputs) if each.name == "w")


def test_only_relaxed_plans_round_data() -> None:
    program = products.stored(512, 768, 768, bits=4)
    plan = plan_program(program)
    for accuracy in (Accuracy.EXACT, Accuracy.FAST):
        assert not offered(plan.with_accuracy(accuracy))
    allowed = plan.with_accuracy(Accuracy.RELAXED)
    assert allowed.default_schedule(COOPERLAKE, 1).algorithm in offered(allowed)


def test_programs_that_let_data_be_bytes_need_no_accuracy_for_it() -> None:
    """They still round nothing else, and an exact plan rounds nothing."""
    asking = replace(products.stored(512, 768, 768, bits=4), data_type="int8")
    plan = plan_program(asking)
    assert plan.accuracy is Accuracy.FAST
    assert plan.default_schedule(COOPERLAKE, 1).algorithm in offered(plan)
    assert plan.with_algorithm(offered(plan)[0]).program.data_type == "int8"
    others = [each for each in plan.algorithms if each not in offered(plan)]
    assert all(is_allowed(each.exactness, Accuracy.FAST) for each in others)
    assert not offered(plan.with_accuracy(Accuracy.EXACT))


def test_machines_without_dot_products_of_bytes_keep_floats() -> None:
    plan = relaxed(products.stored(512, 768, 768, bits=4))
    assert not set(plan.algorithms_on(HASWELL)) & set(offered(plan))


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_wait_for_memory_keep_their_data(rows: int) -> None:
    assert not offered(relaxed(products.stored(rows, 768, 768, bits=4)))


def test_floats_are_no_blocks_of_integers() -> None:
    assert not offered(relaxed(products.dense(64, 64, 64)))


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38, 1e-38, 0.0])
def test_odd_values_reach_their_own_row_alone(value: float) -> None:
    program = products.stored(20, 64, 48)
    (x,) = program.inputs
    data = np.random.default_rng(7).standard_normal(x.shape).astype(np.float32)
    plan = relaxed(program)
    own = plan.with_algorithm(next(each for each in offered(plan)))
    schedule = own.default_under_algorithm(machine_of(NATIVE), 1)[1]
    (before,) = run_schedule(own, schedule, NATIVE, {x: data})
    data[3, :32] = value
    (after,) = run_schedule(own, schedule, NATIVE, {x: data})
    others = [n for n in range(20) if n != 3]
    np.testing.assert_array_equal(after[others], before[others])
    if abs(value) < 1:
        assert np.all(np.isfinite(after))


@pytest.mark.parametrize("bits", [4, 8])
def test_they_read_the_constants_that_one_row_reads(bits: int) -> None:
    plan = relaxed(products.stored(256, 256, 192, bits=bits))
    algorithm = QUANTIZED[0](columns=48)
    wide = algorithm.packing(plan.default_under_algorithm(COOPERLAKE, 1)[1].choices)
    assert wide is not None
    assert {DIRECT, algorithm} <= set(plan.with_packing(Schedule(wide)).algorithms)
    read = [recipes(plan, Schedule(wide)), recipes(plan, own_schedule(plan, algorithm))]
    assert read[0] == read[1]


def own_schedule(plan: Plan, algorithm: AppliedAlgorithm) -> Schedule:
    return plan.with_algorithm(algorithm).default_under_algorithm(COOPERLAKE, 1)[1]


def recipes(plan: Plan, schedule: Schedule) -> set[PackRecipe]:
    return {packed.recipe.merged for packed in apply_schedule(plan, schedule).packed}
