"""Products whose rows are copied into lines, as they stand and turned."""

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.copied_rows import COPIED_ROWS
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import feeds_of
from tests.schedule.machines import core, with_sizes
from tests.schedule.running import run_schedule, runnable_targets

NARROW = with_sizes(core(32, 16), (32 << 10, 512 << 10, 32 << 20))
WIDE = with_sizes(core(64, 32), (32 << 10, 768 << 10, 32 << 20))


def gradient(steps: int, rows: int, columns: int, *, lines: bool = False) -> TensorProgram:
    """sum(k) d[k, i] * x[k, j]; with `lines` sum(k) d[i, k] * x[k, j]."""
    d = input_tensor("d", (rows, steps) if lines else (steps, rows), "float32")
    x, k = input_tensor("x", (steps, columns), "float32"), Axis("k", steps)

    def element(i, j):
        return reduce("sum", [k], (d[i, k] if lines else d[k, i]) * x[k, j])

    return TensorProgram((d, x), (compute("gradient", (rows, columns), element),), ())


def offered(program: TensorProgram) -> set[str]:
    return {str(each) for each in plan_program(program).algorithms if len(each.rewrites) == 1}


AS_IT_STANDS, TURNED = "copied_rows", "copied_rows(turned=True)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (gradient(64, 256, 384), {AS_IT_STANDS}),
        (gradient(64, 384, 256), {AS_IT_STANDS, TURNED}),
        (gradient(256, 1024, 256), {TURNED}),  # rows pages apart are copied by every plan
        (gradient(32, 256, 384), set()),  # the first cache holds the lines of so few steps
        (gradient(64, 272, 384), set()),  # which these are at many offsets of
        (gradient(64, 256, 64), set()),  # a copy would be used too rarely
        (gradient(64, 256, 384, lines=True), set()),
    ],
)
def test_which_products_have_rows_copied(program: TensorProgram, expected: set[str]) -> None:
    assert offered(program) & {AS_IT_STANDS, TURNED} == expected


def test_weights_are_packed_instead() -> None:
    program = gradient(64, 256, 384)
    data = np.zeros(program.inputs[0].shape, "float32")
    constant = TensorProgram(program.inputs[1:], program.outputs, ((program.inputs[0], data),))
    assert AS_IT_STANDS not in offered(constant)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_results_stay_right(turned: bool, grouped: bool) -> None:
    algorithm = COPIED_ROWS(turned=turned)
    if grouped:
        algorithm += ROWS(block=1)
    plan = plan_program(gradient(64, 384, 256)).with_algorithm(algorithm)
    assert {"d_rows", "x_rows"} & {nest.name for nest in plan.nests} == {
        "x_rows" if turned else "d_rows"
    }
    _, schedule = plan.default_under_algorithm(NARROW, 1)
    feeds = feeds_of(plan.source)
    (found,) = run_schedule(plan, schedule, runnable_targets()[0], feeds, threads=1)
    (expected,) = evaluate(plan.source.outputs, feeds)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_vectors_that_are_parts_of_lines_have_rows_copied() -> None:
    plan = plan_program(gradient(512, 256, 512))
    chosen = {
        machine: str(plan.default_schedule(machine, 1).algorithm) for machine in (NARROW, WIDE)
    }
    assert "copied_rows" in chosen[NARROW]
    assert "copied_rows" not in chosen[WIDE]
