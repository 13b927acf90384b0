import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import prod

import pytest

from relay_tune.remembered import results_for_one_build
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.space import default_choice as module
from relay_tune.schedule.space.choice_cost import ChoiceCost, from_below
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.schedule.space.descent import ENOUGH_ACCUMULATORS, PASSES, WORTH_CHANGING, Descent
from relay_tune.schedule.space.space import NestSpace
from tests.schedule.nest_spaces import AVX2, NEON
from tests.schedule.random_programs import random_program
from tests.schedule.running import program_of


def spaces(count: int) -> Iterator[NestSpace]:
    for seed in range(count):
        program = random_program(seed)
        plan = plan_program(program_of(program.outputs, program.feeds, program.constants))
        yield from plan.spaces((AVX2, NEON)[seed % 2], 1 + seed % 2)


def plain_descent(space: NestSpace, descent: Descent, chosen: dict[str, object]) -> float:
    """The cost at the end where every combination is looked at in every pass."""

    def cost(combination: dict[str, object]) -> float:
        return ChoiceCost(space, space.decode(combination)).below(math.inf)

    now = cost(chosen)
    for _ in range(PASSES):
        before = now
        for group in descent.groups(chosen):
            for values in descent.together(group):
                candidate = {**chosen, **values}
                if cost(candidate) < WORTH_CHANGING * now:
                    now, chosen = cost(candidate), candidate
        if now >= before:
            break
    return now


def test_what_is_skipped_changes_no_descent() -> None:
    for space in spaces(25):
        first = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
        for vector in space.values[0]:
            chosen = {**first, "vector": vector}
            cost, found = Descent(space).run(chosen)
            assert cost == plain_descent(space, Descent(space), chosen)
            assert cost == ChoiceCost(space, space.decode(found)).below(math.inf)


def test_starts_that_are_left_out_change_no_default_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = list(spaces(20))
    found = [default_choice(space) for space in listed]
    monkeypatch.setattr(module, "HOPELESS", math.inf)
    with results_for_one_build():
        pass  # what is remembered is dropped
    assert [default_choice(space) for space in listed] == found


def test_a_start_may_reach_what_its_best_tile_costs() -> None:
    for space in spaces(4):
        first = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
        descent = Descent(space)
        group = descent.groups(first)[0]
        candidates = [{**first, **values} for values in descent.together(group)]
        best = min(ChoiceCost(space, space.decode(each)).below(math.inf) for each in candidates)
        assert not Descent(space).may_reach(first, best)
        assert best == math.inf or Descent(space).may_reach(first, math.nextafter(best, math.inf))


def test_no_combination_is_decoded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = Counter[object]()
    decode = NestSpace.decode

    def counting(space: NestSpace, chosen: dict[str, object]) -> object:
        decoded[space, *chosen.values()] += 1
        return decode(space, chosen)

    monkeypatch.setattr(NestSpace, "decode", counting)
    tried = list(spaces(10))
    for space in tried:
        default_choice(space)
    last = len(tried)  # the one that was found is decoded once more
    assert decoded.total() - len(decoded) <= last


def test_a_cost_that_is_not_below_a_bound_is_infinite() -> None:
    space = next(each for each in spaces(25) if each.analysis.nest.body is not None)
    chosen = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
    choice = space.decode(chosen)
    cost = ChoiceCost(space, choice).below(math.inf)
    known = ChoiceCost(space, choice)
    assert known.below(cost / 1000) == known.below(cost) == math.inf
    assert known.below(cost * 1.001) == cost


def test_costs_are_found_from_below() -> None:
    for space in spaces(10):
        for vector in space.values[0]:
            chosen = {
                name: values[0] for name, values in zip(space.names, space.values, strict=True)
            }
            choice = space.decode({**chosen, "vector": vector})
            bounds = list(from_below(space, choice))
            assert bounds == sorted(bounds)
            assert bounds[-1] == ChoiceCost(space, choice).below(math.inf)
            assert bounds[-1] >= space.estimate(choice).cycles


def test_shapes_of_tiles_are_those_that_fill_registers() -> None:
    for space in spaces(25):
        values = dict(zip(space.names, space.values, strict=True))
        names = ("vectors", *(name for name in space.names if name.startswith("tile")))
        sized = [(prod(shape), shape) for shape in product(*(values[name] for name in names))]
        fitting = [(points, shape) for points, shape in sized if points <= space.registers]
        enough = min(ENOUGH_ACCUMULATORS, max((points for points, _ in fitting), default=1))
        expected = [shape for points, shape in fitting if points >= enough]
        assert [(*each.values(),) for each in Descent(space).together(names)] == expected
