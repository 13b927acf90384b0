"""The table of algorithms, and the one that docs/extending.md adds to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.table import ALGORITHMS
from relay_tune.tensor.evaluate import evaluate
from tests.documented_diffs import apply_diff, documented_diff, loaded
from tests.schedule.convolutions import feeds_of
from tests.schedule.machines import SERVER
from tests.schedule.products import dense
from tests.schedule.running import run_schedule, runnable_targets

ROOM = "relay_tune.schedule.rewrites"


def test_names_are_those_of_one_algorithm_each() -> None:
    names = [each.name for each in ALGORITHMS]
    assert len(names) == len(set(names))
    assert "direct" not in names
    for number, each in enumerate(ALGORITHMS):
        assert set(each.follows) <= set(ALGORITHMS[:number])


def test_an_algorithm_is_a_file_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, table = apply_diff(
        documented_diff("extending.md", "relay_tune/schedule/rewrites/exchanged.py"), tmp_path
    )
    exchanged = loaded(f"{ROOM}.exchanged", own, monkeypatch).EXCHANGED
    known = loaded(f"{ROOM}.table", table, monkeypatch).ALGORITHMS
    assert known == (*ALGORITHMS, exchanged)
    program = dense(6, 24, 32)
    plan = plan_program(program, known=known)
    assert exchanged() in plan.algorithms
    _, schedule = plan.with_algorithm(exchanged()).default_under_algorithm(SERVER, 2)
    assert read_schedule(schedule.to_json(), plan) == schedule
    assert '"algorithm":[{"name":"exchanged"}]' in schedule.to_json()
    feeds = {**feeds_of(program), **program.constant_arrays()}
    (expected,) = evaluate(program.outputs, feeds)
    given = {**feeds_of(program), **plan.program.constant_arrays()}
    (found,) = run_schedule(plan, schedule, runnable_targets()[0], given, threads=2)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
