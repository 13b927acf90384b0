"""Products of float32 whose factors are rounded to bfloat16, and those of files in bfloat16."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.machine.pattern import BFLOAT16_WORDS
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.dot_products.match import match_dot_products
from relay_tune.schedule.rewrites.dot_products.record import BF16, BFLOAT16_SUMS
from relay_tune.schedule.rewrites.dot_products.stages import has_dot_products
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, cast, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input, compute, input_tensor
from tests.schedule import products
from tests.schedule.machines import with_registers
from tests.schedule.running import run_schedule, runnable_targets

NATIVE = native_target()
COOPERLAKE = machine_of(parse_target("x86_64-linux-gnu:cooperlake"))
HASWELL = machine_of(parse_target("x86_64-linux-gnu:haswell"))

Make = Callable[[], TensorProgram]


def convolution(
    channels: int = 6,
    *,
    taps: int = 3,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    padding: int = 0,
    dimensions: int = 2,
    constant: bool = True,
) -> TensorProgram:
    """A convolution of 1 to 3 dimensions, channels last; 5 results for each group."""
    size, reach = 9, (taps - 1) * dilation
    out = (size + 2 * padding - reach - 1) // stride + 1
    space = dimensions * (size,)
    x = input_tensor("x", (2, *space, channels * groups), "float32")
    w = input_tensor("w", (*dimensions * (taps,), channels, 5 * groups), "float32")
    steps = [Axis(f"t{n}", taps) for n in range(dimensions)]
    c = Axis("c", channels)

    def inside(n: Scalar, *at: Scalar) -> Scalar:
        *indices, channel = at
        value: Scalar = x[(n, *(index - padding for index in indices), channel)]
        for index in indices:
            value = select(binary("lt", index, size + padding), value, 0.0)
            value = select(binary("ge", index, padding), value, 0.0)
        return value

    shape = (2, *dimensions * (size + 2 * padding,), channels * groups)
    padded: Tensor = compute("padded", shape, inside) if padding else x

    def element(n: Scalar, *at: Scalar) -> Scalar:
        *indices, o = at
        taken = [p * stride + t * dilation for p, t in zip(indices, steps, strict=True)]
        value = padded[(n, *taken, o // 5 * channels + c)]
        return reduce("sum", [*steps, c], value * w[(*steps, c, o)])

    y = compute("y", (2, *dimensions * (out,), 5 * groups), element)
    taken = np.random.default_rng(1).standard_normal(w.shape).astype(np.float32)
    return TensorProgram((x,) if constant else (x, w), (y,), ((w, taken),) if constant else ())


PROGRAMS: dict[str, Make] = {
    **products.PRODUCTS,
    "odd steps": lambda: products.dense(6, 23, 19),
    "two inputs": lambda: products.dense(40, 23, 19, constant=False),
    "two inputs by columns": lambda: products.dense(40, 24, 19, constant=False, transposed=True),
    "batched": lambda: products.batched(33, 10, 18),
    "batched by columns": lambda: products.batched(33, 11, 18, transposed=True),
    "transposed twice": products.transposed_twice,
    "groups of channels": products.grouped,
    "data of the column": products.scaled_by_column,
    "halves": products.halves,
    "one row": lambda: products.dense(1, 64, 48),
    "one dimension": lambda: convolution(dimensions=1, padding=1),
    "three dimensions": lambda: convolution(4, dimensions=3, padding=1),
    "padding and stride": lambda: convolution(5, stride=2, padding=1),
    "dilated": lambda: convolution(dilation=2),
    "groups": lambda: convolution(4, groups=3, padding=1),
    "first layer": lambda: convolution(3, taps=5, stride=2, padding=2),
    "variable taps": lambda: convolution(constant=False),
}


def feeds_of(program: TensorProgram) -> dict[Input, np.ndarray]:
    rng = np.random.default_rng(0)
    return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in program.inputs}


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.bfloat16).astype(values.dtype)


def of_rounded_factors(program: TensorProgram, feeds: dict[Input, np.ndarray]) -> np.ndarray:
    """What a program gives of rounded factors; an addend of the epilogue is as it was."""
    given = {x: feeds[x] if x.name == "residual" else rounded(feeds[x]) for x in program.inputs}
    known = {w: rounded(array) for w, array in program.constant_arrays().items()}
    (found,) = evaluate(program.outputs, {**given, **known})
    return np.asarray(found, np.float64)


def relaxed(program: TensorProgram) -> Plan:
    return plan_program(program).with_accuracy(Accuracy.RELAXED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_sums_of_products_of_rounded_factors(name: str) -> None:
    """As stages, and as code with the instruction or without it."""
    program = PROGRAMS[name]()
    feeds, plan = feeds_of(program), relaxed(program).with_algorithm(BF16())
    expected = of_rounded_factors(program, feeds)
    bound = 1e-5 * np.abs(expected).max()
    given = {x: feeds[x] for x in plan.program.inputs}
    (stages,) = evaluate(plan.program.outputs, {**given, **plan.program.constant_arrays()})
    assert np.abs(stages - expected).max() <= bound
    for target in runnable_targets(half=True):
        schedule = plan.default_under_algorithm(with_registers(COOPERLAKE, 8), 2)[1]
        (found,) = run_schedule(plan, schedule, target, feeds)
        assert np.abs(found - expected).max() <= bound


def test_only_relaxed_plans_round_factors() -> None:
    for program in (products.dense(128, 512, 256), convolution(64)):
        plan = plan_program(program)
        for accuracy in (Accuracy.EXACT, Accuracy.FAST):
            known = plan.with_accuracy(accuracy).algorithms_on(COOPERLAKE)
            assert not any(each.rewrites[:1] == BF16().rewrites for each in known)
        assert BF16() in plan.with_accuracy(Accuracy.RELAXED).algorithms_on(COOPERLAKE)


def test_machines_without_the_instruction_keep_what_they_have() -> None:
    plan = relaxed(products.dense(128, 512, 256))
    assert BF16() not in plan.algorithms_on(HASWELL)
    assert plan.default_schedule(COOPERLAKE, 1).algorithm == BF16()


def of_bfloat16(rows: int, steps: int, columns: int) -> TensorProgram:
    """A product of a file in bfloat16."""
    x = input_tensor("x", (rows, steps), "bfloat16")
    w = input_tensor("w", (columns, steps), "bfloat16")
    k = Axis("k", steps)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], cast(x[i, k], "float32") * cast(w[j, k], "float32"))

    product = compute("product", (rows, columns), element)
    y = compute("y", product.shape, lambda i, j: cast(product[i, j], "bfloat16"))
    rng = np.random.default_rng(1)
    return TensorProgram(
        (x,), (y,), ((w, rng.standard_normal(w.shape).astype(ml_dtypes.bfloat16)),)
    )


@pytest.mark.parametrize("steps", [64, 65])
def test_bfloat16_is_multiplied_as_it_is_unless_all_is_exact(steps: int) -> None:
    program = of_bfloat16(33, steps, 48)
    plan = plan_program(program)
    assert BFLOAT16_SUMS() in plan.algorithms_on(COOPERLAKE)
    assert BFLOAT16_SUMS() not in plan.with_accuracy(Accuracy.EXACT).algorithms_on(COOPERLAKE)
    assert BF16() not in plan.with_accuracy(Accuracy.RELAXED).algorithms_on(COOPERLAKE)
    own, feeds = plan.with_algorithm(BFLOAT16_SUMS()), feeds_of(program)
    (found,) = run_schedule(own, own.default_under_algorithm(COOPERLAKE, 1)[1], NATIVE, feeds)
    x, (w,) = feeds[program.inputs[0]], program.constant_arrays().values()
    expected = x.astype(np.float64) @ w.astype(np.float64).T
    last_digit = 2.0**-8 * np.abs(expected) + 1e-5
    assert np.all(np.abs(found.astype(np.float64) - expected) <= last_digit)


def test_what_is_only_widened_is_read_as_it_is_stored() -> None:
    """Weights in bfloat16 that data in float32 are multiplied by."""
    x, w = input_tensor("x", (9, 34), "float32"), input_tensor("w", (48, 34), "bfloat16")
    k = Axis("k", 34)
    wide = compute("wide", w.shape, lambda o, c: cast(w[o, c], "float32"))
    y = compute("y", (9, 48), lambda i, o: reduce("sum", [k], x[i, k] * wide[o, k]))
    values = np.random.default_rng(1).standard_normal(w.shape).astype(ml_dtypes.bfloat16)
    program = TensorProgram((x,), (y,), ((w, values),))
    assert not has_dot_products(program, BFLOAT16_WORDS)
    plan, feeds = relaxed(program).with_algorithm(BF16()), feeds_of(program)
    ((words, _),) = plan.program.constants
    assert words.dtype == "int32"
    expected = rounded(feeds[x]).astype(np.float64) @ values.astype(np.float64).T
    (found,) = evaluate(plan.program.outputs, {**feeds, **plan.program.constant_arrays()})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_is_not_finite_reaches_only_the_sums_that_it_is_part_of() -> None:
    """Also where a sum ends in the middle of a word."""
    for steps in (22, 23):
        program = products.dense(6, steps, 19)
        feeds, plan = feeds_of(program), relaxed(program).with_algorithm(BF16())
        x = feeds[program.inputs[0]]
        x[1, -1], x[2, 0], x[3, 1:3] = np.nan, np.inf, (np.inf, -np.inf)
        expected = of_rounded_factors(program, feeds)
        schedule = plan.default_under_algorithm(COOPERLAKE, 1)[1]
        (found,) = run_schedule(plan, schedule, NATIVE, feeds)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_words_of_floats_have_no_neighbours_in_them() -> None:
    """Zero times an infinity is no zero: sums of odd length need zeros in both operands."""
    along_columns = products.convolution(shape=(1, 6, 5, 1, 16))()
    assert not has_dot_products(along_columns, BFLOAT16_WORDS, rounds=True)
    even = products.convolution(shape=(1, 6, 5, 1, 16), kernel=(4, 4))()
    assert has_dot_products(even, BFLOAT16_WORDS, rounds=True)
    odd_groups = convolution(3, groups=2, taps=4)
    found = match_dot_products(odd_groups.outputs[0], BFLOAT16_WORDS, rounds=True)
    assert found is not None and found.axis.name != "c"


def test_other_sums_stay() -> None:
    for make in (products.largest, products.differences):
        assert not has_dot_products(make(), BFLOAT16_WORDS, rounds=True)
    wide = products.dense(8, 64, 16, dtype="float64")
    assert not has_dot_products(wide, BFLOAT16_WORDS, rounds=True)


def test_constants_are_words_when_the_program_is_built() -> None:
    for transposed in (False, True):
        plan = relaxed(products.dense(9, 34, 48, transposed=transposed)).with_algorithm(BF16())
        ((words, _),) = plan.program.constants
        assert (words.dtype, sorted(words.shape)) == ("int32", [17, 48])
        assert len(plan.nests) == 2  # the data are rounded, and the product
