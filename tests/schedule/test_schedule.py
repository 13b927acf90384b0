import json
import random
from dataclasses import replace

import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.expression import Axis, reduce, unary
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.random_choices import any_choice
from tests.schedule.running import program_of

GOOD = TileChoice(
    vector=1,
    lanes=8,
    tile=(4, 16),
    order=(1, 0),
    blocks=(2, 1),
    reduction_order=(0,),
    unroll=4,
    parallel=1,
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A matrix product of 12 x 20 with 9 steps, and a second nest without axes to speak of."""
    a, b, k = (
        input_tensor("a", (12, 9), "float32"),
        input_tensor("b", (9, 20), "float32"),
        Axis("k", 9),
    )
    product = compute("p", (12, 20), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
    corner = compute("c", (1,), lambda i: unary("neg", a[i, i]))
    return plan_program(program_of([product, corner], {}))


CORNER = TileChoice(-1, 1, (), (), (), (), 1, 0)


def text_of(**changes: object) -> str:
    """The JSON text of the good schedule with some fields of its first choice replaced."""
    data = json.loads(Schedule((GOOD, CORNER)).to_json())
    data["nests"][0].update(changes)
    return json.dumps(data)


def test_round_trip(plan):
    rng = random.Random(3)
    for _ in range(200):
        schedule = Schedule(tuple(any_choice(rng, nest) for nest in plan.nests))
        text = schedule.to_json()
        assert Schedule.from_json(text, plan.nests) == schedule
        assert Schedule.from_json(text, plan.nests).to_json() == text


def test_the_text_is_canonical(plan):
    text = Schedule((GOOD, CORNER)).to_json()
    shuffled = json.dumps(json.loads(text), indent=3)
    assert Schedule.from_json(shuffled, plan.nests).to_json() == text
    assert " " not in text


def test_a_schedule_replays_to_the_same_code(plan):
    target = parse_target("x86_64-linux-gnu:haswell")
    schedule = Schedule((GOOD, CORNER))
    again = Schedule.from_json(schedule.to_json(), plan.nests)
    first, second = (
        module_text(apply_schedule(plan, s).kernels, target) for s in (schedule, again)
    )
    assert first == second
    other = Schedule((replace(GOOD, lanes=4), CORNER))
    assert module_text(apply_schedule(plan, other).kernels, target) != first


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '"nests"',
        "{}",
        '{"nests": 3}',
        '{"nests": null}',
        '{"nests": [1, 2]}',
        '{"nests": {"a": 1}}',
        '{"nests": [{}, {}]}',
        '{"nests": []}',
        "\x00",
        '{"nests": NaN}',
        text_of(lanes="8"),
        text_of(lanes=8.0),
        text_of(lanes=True),
        text_of(lanes=None),
        text_of(tile=4),
        text_of(tile="416"),
        text_of(tile=[[4], 16]),
        text_of(tile=[4, 1e400]),
        text_of(order={"0": 1}),
    ],
)
def test_malformed_text_is_refused(plan, text):
    with pytest.raises(InputError):
        Schedule.from_json(text, plan.nests)


def test_deeply_nested_text_is_refused(plan):
    with pytest.raises(InputError):
        Schedule.from_json("[" * 100_000, plan.nests)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vector": 2}, "vector axis"),
        ({"vector": -3}, "vector axis"),
        ({"vector": -1}, "lanes without"),
        ({"vector": -2, "lanes": 1}, "single lane"),
        ({"lanes": 0}, "0 lanes"),
        ({"lanes": 3}, "3 lanes"),
        ({"lanes": -8}, "lanes"),
        ({"lanes": 1 << 40}, "lanes"),
        ({"tile": [4]}, "another rank"),
        ({"tile": [4, 16, 1]}, "another rank"),
        ({"tile": [0, 16]}, "a tile of 0"),
        ({"tile": [13, 16]}, "a tile of 13 on an axis of 12"),
        ({"tile": [4, -1]}, "a tile of -1"),
        ({"order": [0, 0]}, "another rank"),
        ({"order": [0]}, "another rank"),
        ({"order": [0, 2]}, "another rank"),
        ({"blocks": [1]}, "another rank"),
        ({"prefetch": 1}, "malformed"),
        ({"blocks": [0, 1]}, "0 blocks"),
        ({"blocks": [1, 21]}, "21 blocks on an axis of 20"),
        ({"reduction_order": []}, "reduction order"),
        ({"reduction_order": [1]}, "reduction order"),
        ({"unroll": 0}, "unrolling"),
        ({"unroll": 10**9}, "unrolling"),
        ({"parallel": 4}, "parallel"),
        ({"parallel": -1}, "parallel"),
    ],
)
def test_what_does_not_fit_is_refused(plan, changes, reason):
    with pytest.raises(InputError, match=reason):
        Schedule.from_json(text_of(**changes), plan.nests)


def test_lanes_of_a_reduction_need_one(plan):
    assert "nothing is reduced" in str(misfit(replace(CORNER, vector=-2, lanes=2), plan.nests[1]))


def test_a_tile_that_would_fill_the_memory_is_refused():
    a = input_tensor("a", (512, 512, 3), "float32")
    b = compute("b", a.shape, lambda i, j, k: a[j, i, k] + a[i, j, 0])
    (nest,) = plan_program(program_of([b], {})).nests
    choice = TileChoice(-1, 1, (512, 512, 1), (0, 1, 2), (1, 1, 1), (), 1, 0)
    assert misfit(choice, nest) == "a tile of 262144 points"


def test_the_number_of_choices_must_be_right(plan):
    with pytest.raises(InputError, match="1 choices, but the program has 2 nests"):
        Schedule.from_json(Schedule((GOOD,)).to_json(), plan.nests)
