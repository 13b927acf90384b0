"""What a product reads in the next of many parts, asked for early."""

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.fetched_operands import asks_for_next_part
from relay_tune.schedule.cost.operand import operands
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.cost.traffic import traffic_of
from relay_tune.schedule.loops.prefetch.fetch import Site
from relay_tune.schedule.loops.prefetch.next_part import next_part
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.partial_sums import PARTIAL_SUMS
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import feeds_of
from tests.schedule.machines import core, with_sizes
from tests.schedule.running import run_schedule, runnable_targets

SERVER = with_sizes(core(64, 32), (48 << 10, 1 << 20, 32 << 20))


def gradient_plan(images: int, pixels: int, inputs: int, outputs: int, steps: int = 256) -> Plan:
    """sum(n, p) x[n, p, i] * d[n, p, o] in parts with the inputs' columns last."""
    x = input_tensor("x", (images, pixels, inputs), "float32")
    d = input_tensor("d", (images, pixels, outputs), "float32")
    n, p = Axis("n", images), Axis("p", pixels)

    def element(i, o):
        return reduce("sum", [n, p], x[n, p, i] * d[n, p, o])

    program = TensorProgram((x, d), (compute("gradient", (inputs, outputs), element),), ())
    return plan_program(program, PARTIAL_SUMS(steps=steps, turned=True))


def schedule_of(plan: Plan, **changes: object) -> Schedule:
    """The default one with changes in the choice of the parts."""
    first, *others = plan.default_under_algorithm(SERVER, 1)[1].choices
    tiles = {"tile": (1, 6, 64), "order": (0, 1, 2), "vector": 2, "lanes": 16, "parallel": 1}
    asking = {"prefetch": True, "unroll": 2, "blocks": (1, 1, 1), "reduction_order": (0,)}
    return Schedule((replace(first, **{**tiles, **asking, **changes}), *others), plan.algorithm)


def choice_of(plan: Plan, **changes: object) -> TileChoice:
    return schedule_of(plan, **changes).choices[0]


@pytest.mark.parametrize(
    ("changes", "asks"),
    [
        ({}, True),
        ({"prefetch": False}, False),
        ({"unroll": 8}, False),
        ({"order": (1, 0, 2)}, False),
        ({"tile": (2, 6, 32)}, False),
    ],
    ids=["parts", "not chosen", "many lines at once", "parts inside", "several parts in a tile"],
)
def test_which_choices_ask(changes, asks):
    plan = gradient_plan(8, 256, 64, 96)
    assert (next_part(plan.nests[0], choice_of(plan, **changes)) is not None) is asks


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({}, True), ({"prefetch": False}, False), ({"blocks": (1, 2, 1)}, False)],
    ids=["parts", "not chosen", "blocks that go through all parts"],
)
def test_the_estimate_knows_what_no_one_asks_for(changes, asked):
    plan = gradient_plan(8, 256, 64, 96)
    space, choice = plan.spaces(SERVER, 1)[0], choice_of(plan, **changes)
    assert asks_for_next_part(space.analysis, choice) is asked
    traffic = traffic_of(tile_of(space.analysis, choice, SERVER), choice)
    assert traffic.reads_parts_once is ("blocks" not in changes)
    read = [operand.first * SERVER.main.rate for operand in operands(traffic)]
    if traffic.reads_parts_once:
        assert all(bytes_ <= 4 * 8 * 256 * 96 for bytes_ in read)


def test_parts_are_asked_for_whatever_tiles_share():
    """Here the loop inside of all others goes along columns, and no panel is asked for."""
    plan = gradient_plan(8, 256, 64, 96)
    space, choice = plan.spaces(SERVER, 1)[0], choice_of(plan, order=(0, 1, 2), tile=(1, 6, 32))
    plain = replace(choice, prefetch=False)
    assert space.with_ahead_and_parallel(plain, True).prefetch


@pytest.mark.parametrize(
    ("outputs", "steps"), [(48, 256), (512, 512)], ids=["no time", "no room in the second cache"]
)
def test_parts_that_cannot_be_asked_for(outputs, steps):
    plan = gradient_plan(8, 512, 64, outputs, steps)
    assert next_part(plan.nests[0], choice_of(plan, unroll=1)) is None


def test_each_line_of_the_next_part_is_asked_for():
    plan = gradient_plan(8, 256, 64, 96)
    found = next_part(plan.nests[0], choice_of(plan))
    assert found is not None
    assert sorted(rows.all_lines for rows in found.rows) == [256 * 64 // 16, 256 * 96 // 16]
    assert sorted(rows.first for rows in found.rows) == [256 * 64, 256 * 96]


def lines_of_turns(outputs: int) -> tuple[list[list[int]], list[int]]:
    """Where the lines begin that each turn asks for, and how many lines each operand has."""
    plan = gradient_plan(8, 256, 64, outputs)
    found = next_part(plan.nests[0], choice_of(plan))
    assert found is not None
    part, tile, group = Axis("part", 8), Axis("tile", -(-outputs // 6)), Axis("group", 128)
    fetches = list(found.fetches(Site({}, (part, tile), (group,))))
    lines = []
    for turn in range(tile.extent * group.extent):
        at = {part: 0, tile: turn // group.extent, group: turn % group.extent}
        asked = [
            each
            for each in fetches
            if all(scalar_value(number, at, {}) < end for number, end in each.limits)
        ]
        offsets = [offset for each in asked for _, offset in each.lines]
        lines.append([int(scalar_value(offset, at, {})) for offset in offsets])
    return lines, [rows.all_lines for rows in found.rows]


def test_a_turn_asks_for_one_line_where_there_are_turns_for_all():
    lines, counts = lines_of_turns(256)
    assert [len(each) for each in lines[: sum(counts)]] == [1] * sum(counts)
    assert not any(lines[sum(counts) :])
    first, second = lines[: counts[0]], lines[counts[0] : sum(counts)]
    for own, count in zip((first, second), counts, strict=True):
        begin = own[0][0]
        assert [each for (each,) in own] == [begin + 16 * n for n in range(count)]


def test_operands_are_asked_for_side_by_side_where_turns_are_few():
    lines, counts = lines_of_turns(96)
    assert sum(counts) > len(lines)
    assert [len(each) for each in lines] == [
        sum(turn < count for count in counts) for turn in range(len(lines))
    ]


def test_code_asks_and_computes_the_same():
    plan = gradient_plan(8, 256, 64, 96)
    schedule = schedule_of(plan)
    text = kernel_text(apply_schedule(plan, schedule).kernels[0])
    assert text.count("prefetch x") and text.count("prefetch d")
    feeds = feeds_of(plan.source)
    (expected,) = evaluate(plan.source.outputs, feeds)
    (found,) = run_schedule(plan, schedule, runnable_targets()[0], feeds, threads=2)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_the_default_asks_where_parts_come_from_memory():
    plan = gradient_plan(32, 3136, 64, 256, 512)
    default = plan.default_under_algorithm(SERVER, 1)[1].choices[0]
    assert next_part(plan.nests[0], default) is not None
