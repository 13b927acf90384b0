"""Sequences of steps with less room than all values take."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relay_tune.building.recomputation.repeated_steps import repeated_steps
from relay_tune.building.recomputation.short_lives import short_lived_order
from relay_tune.building.recomputation.steps import Step, Steps
from relay_tune.building.recomputation.within_limit import (
    least_limit,
    planned_bytes,
    sequence_within,
)


def chain(length: int) -> Steps:
    """A forward sweep, and a backward one that reads its values from the last to the first.

    Step n < length writes value n; step length + n reads value length - 1 - n, and the value of the
    step before.
    """
    forward = [
        Step((n - 1,) if n else (), (n - 1,) if n else (), (n,), cost=1.0) for n in range(length)
    ]
    backward = [
        Step(
            (length + n - 1, length - 1 - n),
            (length + n - 1, length - 1 - n),
            (length + n,),
            cost=1.0,
        )
        for n in range(1, length)
    ]
    first = Step((length - 1,), (length - 1,), (length,), cost=1.0)
    return Steps((*forward, first, *backward), (64,) * (2 * length))


@st.composite
def steps(draw: st.DrawFn) -> Steps:
    """Some steps that read results of earlier ones; a few cannot be repeated."""
    count = draw(st.integers(1, 14))
    made: list[Step] = []
    for number in range(count):
        reads = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        writes = (number,) if draw(st.integers(0, 4)) else ()
        values = tuple(sorted(v for v in reads if made[v].writes))
        is_repeatable = bool(writes) and draw(st.integers(0, 3)) > 0
        workspace = tuple(draw(st.lists(st.integers(1, 300), max_size=1)))
        cost = draw(st.integers(1, 50))
        made.append(Step(tuple(sorted(reads)), values, writes, workspace, cost, is_repeatable))
    sizes = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    if draw(st.booleans()):
        made = [_in_place(step, sizes) for step in made]
    return Steps(tuple(made), tuple(64 * size for size in sizes))


def _in_place(step: Step, sizes: Sequence[int]) -> Step:
    """The step, which may write to the memory of all that is as large."""
    pairs = ((read, written) for read in step.reads for written in step.writes)
    same = tuple((read, written) for read, written in pairs if sizes[read] == sizes[written])
    return replace(step, in_place=same)


def check_values(steps: Steps, sequence: list[int]) -> None:
    """What a step reads is there yet: nothing was written to its memory since it was made."""
    memory = itertools.count()
    slot: dict[int, int] = {}  # of each value
    content: dict[int, int] = {}  # the value of each slot
    for number, replaced in zip(sequence, steps.replaced(sequence), strict=True):
        step = steps.steps[number]
        assert all(content[slot[value]] == value for value in step.reads)
        assert all(pair in step.in_place for pair in ((r, w) for w, r in replaced.items()))
        for value in step.writes:
            slot[value] = slot[replaced[value]] if value in replaced else next(memory)
            content[slot[value]] = value


def check_runs(steps: Steps, sequence: list[int]) -> None:
    """Every step runs, after what it reads; only those run again that may."""
    ran: set[int] = set()
    for number in sequence:
        step = steps.steps[number]
        assert ran.issuperset(step.after)
        assert number not in ran or step.is_repeatable
        ran.add(number)
    assert ran == set(range(len(steps.steps)))


@given(steps(), st.floats(0.4, 1.0))
@settings(max_examples=100, deadline=None)
def test_what_is_alive_has_room(steps: Steps, share: float) -> None:
    room = int(steps.most_alive(range(len(steps.steps))) * share)
    sequence = repeated_steps(steps, short_lived_order(steps), room)
    assume(sequence is not None)
    assert sequence is not None
    check_runs(steps, sequence)
    check_values(steps, sequence)
    assert steps.most_alive(sequence) <= room + 300  # workspace is rounded up there, not here


@given(steps(), st.floats(0.1, 1.0))
@settings(max_examples=60, deadline=None)
def test_plans_are_within_the_limit(steps: Steps, share: float) -> None:
    limit = int(planned_bytes(steps, range(len(steps.steps))) * share)
    sequence = sequence_within(steps, limit)
    assume(sequence is not None)
    assert sequence is not None
    check_runs(steps, sequence)
    check_values(steps, sequence)
    assert planned_bytes(steps, sequence, limit) <= limit


@given(steps())
@settings(max_examples=40, deadline=None)
def test_the_least_limit_can_be_kept(steps: Steps) -> None:
    limit = least_limit(steps)
    sequence = sequence_within(steps, limit)
    assert sequence is not None
    assert planned_bytes(steps, sequence, limit) <= limit


def test_a_limit_is_one_that_is_found_again() -> None:
    """A plan of 1,408 bytes was found in more room, and none where they were the limit."""
    alone = {"is_repeatable": False, "cost": 1.0}
    steps = Steps(
        (
            Step((), (), (0,), **alone),
            Step((), (), (1,), **alone),
            Step((), (), (2,), cost=1.0),
            Step((0,), (0,), (), **alone),
            Step((), (), (4,), (129,), **alone),
            Step((2,), (2,), (), (257,), **alone),
            Step((0, 1, 4), (0, 1, 4), (6,), **alone),
            Step((1, 2), (1, 2), (7,), (129,), **alone),
        ),
        (384, 128, 384, 64, 128, 64, 384, 576),
    )
    assert sequence_within(steps, least_limit(steps)) is not None


def test_no_step_runs_again_where_there_is_room() -> None:
    steps = chain(20)
    own = list(range(40))
    assert sequence_within(steps, planned_bytes(steps, own)) == own


def test_a_chain_in_a_third_of_its_memory_costs_less_than_half_as_much_again() -> None:
    steps = chain(60)
    own = range(120)
    sequence = sequence_within(steps, planned_bytes(steps, own) // 3)
    assert sequence is not None
    assert steps.cost(sequence) < 1.5 * steps.cost(own)


def test_a_long_chain_needs_few_slots() -> None:
    assert least_limit(chain(60)) < 12 * 64


def test_the_cheap_value_is_computed_again() -> None:
    steps = Steps(
        (
            Step((), (), (0,), cost=100.0),
            Step((), (), (1,), cost=1.0),
            Step((0, 1), (0, 1), (2,), cost=1.0),
            Step((2,), (2,), (3,), cost=1.0),
            Step((0, 1, 3), (0, 1, 3), (), cost=1.0, is_repeatable=False),
        ),
        (64, 64, 64, 64),
    )
    assert repeated_steps(steps, range(5), 3 * 64) == [0, 1, 2, 3, 1, 4]


def test_a_value_takes_the_memory_of_one_that_nothing_reads_again() -> None:
    """Three values, of which the second may be written over the first, and the third over both."""
    steps = Steps(
        (
            Step((), (), (0,)),
            Step((0,), (0,), (1,), in_place=((0, 1),)),
            Step((0, 1), (0, 1), (2,), in_place=((0, 2), (1, 2))),
        ),
        (64, 64, 64),
    )
    assert steps.replaced(range(3)) == [{}, {}, {2: 0}]
    assert planned_bytes(steps, range(3)) == steps.most_alive(range(3)) == 128
    assert steps.most_at_once == 128
    assert repeated_steps(steps, range(3), 128) == [0, 1, 2]
    assert repeated_steps(steps, range(3), 64) is None


def test_a_step_that_reads_a_part_and_writes_another_counts_the_value_once() -> None:
    """Two parts of one value, the second of which is computed from the first."""
    steps = Steps(
        (
            Step((), (), (0,), is_repeatable=False),
            Step((0,), (0,), (0,), is_repeatable=False),
            Step((1,), (0,), (1,)),
        ),
        (64, 64),
    )
    assert repeated_steps(steps, [0, 1, 2], 128) == [0, 1, 2]
