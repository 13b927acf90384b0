"""The order in which what takes no more memory runs as soon as it can."""

from __future__ import annotations

from hypothesis import given, settings

from relay_tune.building.recomputation.prompt_order import prompt_order
from relay_tune.building.recomputation.steps import Step, Steps
from tests.building.recomputation.test_repeated_steps import check_runs, steps


def test_what_takes_no_more_memory_runs_at_once() -> None:
    # Three adjoints, each from the one before, and then the outputs that read them.
    sweep = [Step((n - 1,) if n else (), (n - 1,) if n else (), (n,)) for n in range(3)]
    outputs = [Step((n,), (n,), (), is_repeatable=False) for n in (2, 1, 0)]
    assert prompt_order(Steps((*sweep, *outputs), (64, 64, 64))) == [0, 5, 1, 4, 2, 3]


def test_a_larger_result_waits_until_it_is_its_turn() -> None:
    first = [Step((), (), (0,)), Step((), (), (1,))]
    larger, smaller = Step((0,), (0,), (2,)), Step((1,), (1,), (3,))
    assert prompt_order(Steps((*first, larger, smaller), (64, 64, 128, 32))) == [0, 1, 3, 2]


@given(steps())
@settings(max_examples=50, deadline=None)
def test_each_step_runs_once_behind_what_it_needs(steps: Steps) -> None:
    order = prompt_order(steps)
    assert sorted(order) == list(range(len(order)))
    check_runs(steps, order)
