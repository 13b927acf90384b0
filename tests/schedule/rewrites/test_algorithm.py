"""Algorithms as records, and applied ones as values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy, Exactness, Mixing
from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import (
    DIRECT,
    Algorithm,
    AppliedAlgorithm,
    Parameters,
    read_algorithm,
)
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT, split_program
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.rewrites.table import ALGORITHMS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce, unary
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import UndecidedSizeError
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import feeds_of
from tests.schedule.machines import SERVER
from tests.schedule.products import dense
from tests.schedule.running import run_schedule, runnable_targets


def _no_parameters(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    yield Parameters()


LAST = Algorithm("last", _no_parameters, grouped=ROWS.grouped, follows=(SPLIT,))

VALUES = {
    "direct": DIRECT,
    "split(parts=4)": SPLIT(parts=4),
    "strassen": STRASSEN(),
    "bf16x3": BF16X3(),
    "bf16x6(gathered=True)": BF16X6(gathered=True),
    "winograd(tile=2)": WINOGRAD(tile=2),
    "winograd(tile=4, block=28)": WINOGRAD(tile=4, block=28),
    "rows(block=8)": ROWS(block=8),
    "split(parts=4) + last": SPLIT(parts=4) + LAST(),
}


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("direct", None),
        ("rows(block=8)", DIRECT),
        ("split(parts=4) + last", SPLIT(parts=4)),
        ("winograd(tile=4, block=28)", None),  # which makes other stages, too
        ("split(parts=4) + rows(block=8) + last", None),  # whose nests are in groups already
    ],
)
def test_what_only_groups_nests_has_those_of_the_algorithm_before_it(
    text: str, before: AppliedAlgorithm | None
) -> None:
    several = AppliedAlgorithm((*(SPLIT(parts=4) + ROWS(block=8)).rewrites, *LAST().rewrites))
    assert {**VALUES, str(several): several}[text].before_groups == before


def test_plans_that_only_group_nests_share_them() -> None:
    x = input_tensor("x", (12, 40), "float32")
    k = Axis("k", 40)
    e = compute("e", (12, 40), lambda i, j: unary("exp", x[i, j]))
    s = compute("s", (12,), lambda i: reduce("sum", [k], e[i, k]))
    y = compute("y", (12, 40), lambda i, j: e[i, j] / s[i])
    program = TensorProgram((x,), (y,), ())
    direct = plan_program(program)
    for block in (1, 4):
        shared, alone = (
            plan.with_algorithm(ROWS(block=block))
            for plan in (direct, plan_program(program, ROWS(block=block)))
        )
        assert shared.program is direct.program and alone.program is not direct.program
        assert shared.repeats == alone.repeats and max(shared.repeats) == 12 // block
        assert shared.default_under_algorithm(SERVER, 2) == alone.default_under_algorithm(SERVER, 2)


@pytest.mark.parametrize("text", VALUES)
def test_applied_algorithms_are_values(text: str) -> None:
    value, known = VALUES[text], (*ALGORITHMS, LAST)
    assert str(value) == text
    again = read_algorithm(json.loads(json.dumps(value.to_json())), known)
    assert again == value and hash(again) == hash(value)
    assert [each for each in VALUES.values() if each == value] == [value]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([{"name": "fourier"}], "no algorithm 'fourier'"),
        ([{"name": "winograd"}], r"no algorithm winograd\(\)"),
        ([{"name": "winograd", "tile": 4.0}], "tile=4.0"),
        ([{"name": "winograd", "tile": 4, "block": True}], "block=True"),
        ([{"name": "rows", "block": 10_000}], "block=10000"),
        ([{"name": "bf16x3", "gathered": 1}], "gathered=1"),
        ([{"name": "strassen", "halves": 2}], "halves=2"),
        ([{"name": "rows", "block": 8}, {"name": "split", "parts": 4}], "split does not follow"),
    ],
)
def test_forms_are_checked(form: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_algorithm(form, ALGORITHMS)


@pytest.mark.parametrize("form", ["winograd4", {}, [3], [[]], [{"tile": 4}], [{"name": 3}], None])
def test_what_is_no_form_is_malformed(form: object) -> None:
    text = json.dumps({"algorithm": form, "nests": []})
    with pytest.raises(InputError, match="malformed"):
        read_schedule(text, plan_program(dense(4, 8, 16)))


def test_several_rewrites_are_as_exact_as_the_least_exact_of_them() -> None:
    mixing = replace(LAST, exactness=Exactness(Mixing.SAMPLES))
    applied = AppliedAlgorithm(SPLIT(parts=4).rewrites + mixing().rewrites)
    assert applied.exactness == mixing.exactness
    assert DIRECT.exactness == SPLIT(parts=4).exactness == Exactness()


def _cut_again(program: TensorProgram, parameters: Parameters) -> TensorProgram | None:
    return split_program(program, SPLIT(parts=4).rewrites[0].parameters)


def test_one_rewrite_after_the_other() -> None:
    """Four parts of four parts of a sum; another algorithm says the second cut."""
    again = Algorithm("again", _no_parameters, rewritten=_cut_again, follows=(SPLIT,))
    program = dense(16, 8192, 48)
    plan = plan_program(program, known=(*ALGORITHMS, again))
    applied = SPLIT(parts=4) + again()
    assert applied in plan.algorithms and plan.algorithms[0] == DIRECT
    assert [len(nest.axes) for nest in plan.with_algorithm(applied).nests] == [4, 1]
    _, schedule = plan.with_algorithm(applied).default_under_algorithm(SERVER, 2)
    assert read_schedule(schedule.to_json(), plan) == schedule
    with pytest.raises(InputError, match="no algorithm 'again'"):
        read_schedule(schedule.to_json(), plan_program(program))
    chosen = plan.with_algorithm(applied)
    feeds = {**feeds_of(program), **chosen.program.constant_arrays()}
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    (found,) = run_schedule(plan, schedule, runnable_targets()[0], feeds, threads=2)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_an_algorithm_that_dynamic_sizes_leave_open_goes_alone() -> None:
    def undecided(*_: object) -> None:
        raise UndecidedSizeError("Code would depend on a size.")

    rewritten = Algorithm("rewritten", _no_parameters, rewritten=undecided)
    offered = Algorithm("offered", undecided)
    plan = plan_program(dense(8, 8, 8), known=(rewritten, offered))
    assert plan.algorithms == (DIRECT, rewritten())
    assert plan.default_schedule(SERVER, 1).algorithm == DIRECT
