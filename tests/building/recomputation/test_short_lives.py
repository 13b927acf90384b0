"""The order in which results do not wait long."""

from __future__ import annotations

from hypothesis import given, settings

from relay_tune.building.recomputation.short_lives import short_lived_order
from relay_tune.building.recomputation.steps import Step, Steps
from tests.building.recomputation.test_repeated_steps import check_runs, steps


def test_what_gives_an_output_runs_as_soon_as_it_can() -> None:
    # Three adjoints, each from the one before, and then the outputs that read them.
    sweep = [Step((n - 1,) if n else (), (n - 1,) if n else (), (n,)) for n in range(3)]
    outputs = [Step((n,), (n,), (), is_repeatable=False) for n in (2, 1, 0)]
    order = short_lived_order(Steps((*sweep, *outputs), (64, 64, 64)))
    assert order == [0, 5, 1, 4, 2, 3]


def test_one_output_keeps_the_order() -> None:
    made = [Step((), (), (n,)) for n in range(3)]
    last = Step((0, 1, 2), (0, 1, 2), (), is_repeatable=False)
    assert short_lived_order(Steps((*made, last), (64, 64, 64))) == [0, 1, 2, 3]


@given(steps())
@settings(max_examples=100, deadline=None)
def test_no_order_takes_more(steps: Steps) -> None:
    order = short_lived_order(steps)
    check_runs(steps, order)
    assert steps.most_alive(order) <= steps.most_alive(range(len(order)))
