"""What a group asks for beside a product on matrix registers, spread over its nests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.prefetch.fetch import Turns
from relay_tune.schedule.loops.prefetch.neighbours import fetched_beside, stored_rows
from relay_tune.schedule.loops.prefetch.spread import shares_of_time, spread
from relay_tune.schedule.loops.row_block_loops import row_block_loops
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X3_SUMS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Let,
    Loop,
    LoopKind,
    Prefetch,
    Statement,
)
from relay_tune.tensor.matrix_registers import MatrixRegisters
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import TILES
from tests.schedule.products import dense
from tests.schedule.rewrites.matrix_products.test_long_sums import weight_gradient

GROUPS: Mapping[str, tuple[TensorProgram, AppliedAlgorithm]] = {
    "weight gradient": (weight_gradient(32, 28, 64, 128), BF16X3_SUMS(steps=128)),
    "step 2": (weight_gradient(32, 28, 64, 128, stride=2), BF16X3_SUMS(steps=128)),
    "rows": (dense(8192, 256, 64), BF16X3(block=64)),
    "rows of few channels": (dense(8192, 64, 256), BF16X3(block=64)),
}


def group_of(program: TensorProgram, algorithm: AppliedAlgorithm) -> tuple[Plan, RowBlocks]:
    plan = plan_program(program, algorithm)
    return plan, next(step for step in plan.steps if isinstance(step, RowBlocks))


def choices_of(plan: Plan, blocks: RowBlocks) -> tuple[TileChoice, ...]:
    """The default choices of the nests of a group, among those of its plan."""
    names = [space.analysis.nest.name for space in plan.spaces(TILES, 1)]
    first = names.index(blocks.nests[0].name)
    choices = plan.default_under_algorithm(TILES, 1)[1].choices
    return choices[first : first + len(blocks.nests)]


def asked_for(node: Statement, at: Mapping[Axis, int]) -> Iterator[tuple[str, int]]:
    """Tensors and elements that the first block of a group asks for."""
    match node:
        case Block():
            for part in node.statements:
                yield from asked_for(part, at)
        case Loop():
            begin, end = (int(scalar_value(each, at, {})) for each in (node.begin, node.end))
            is_once = node.kind in (LoopKind.PARALLEL, LoopKind.VECTOR)
            is_once = is_once or node.axis.name in ("block", "row0", "row1")
            for value in range(begin, 1 if is_once else end):
                yield from asked_for(node.body, {**at, node.axis: value})
        case Let():
            value = int(scalar_value(node.value, at, {}))
            yield from asked_for(node.body, {**at, node.axis: value})
        case Allocate() | MatrixRegisters():
            yield from asked_for(node.body, at)
        case Branch():
            side = node.then if scalar_value(node.condition, at, {}) else node.otherwise
            if side is not None:
                yield from asked_for(side, at)
        case Prefetch():
            yield node.buffer.name, int(scalar_value(node.indices[-1], at, {}))


@pytest.mark.parametrize("name", GROUPS)
def test_each_line_of_the_next_block_is_asked_for_once(name: str) -> None:
    plan, blocks = group_of(*GROUPS[name])
    positions = (*blocks.outer, blocks.base)
    _, touched = fetched_beside(blocks.nests, positions, blocks.rows, frozenset())
    turn = Axis("turn", sum(rows.all_lines for rows in touched))
    wanted = [
        (rows.tensor.name, int(scalar_value(fetch.lines[0][1], {**start, turn: number}, {})))
        for start in [dict.fromkeys(positions, 0)]
        for rows in touched
        for fetch in rows.shares(Turns([turn]))
        for number in range(rows.all_lines)
    ]
    body = row_block_loops(blocks, choices_of(plan, blocks), frozenset()).body
    target = blocks.nests[-1].target.name
    found = [line for line in asked_for(body, {}) if line[0] != target]
    assert sorted(found) == sorted(wanted)
    assert wanted


def test_copies_and_products_ask_by_their_time() -> None:
    plan, blocks = group_of(weight_gradient(32, 56, 64, 256), BF16X3_SUMS(steps=128))
    shares = shares_of_time(blocks.nests, 2)
    assert sum(shares.values()) == pytest.approx(1)
    # 64 and 256 columns of as many steps are split, which takes longer than their products
    assert shares[1] == pytest.approx(4 * shares[0])
    assert 1 / 3 < shares[2] < 1 / 2


@pytest.mark.parametrize(("name", "asked"), [("rows", 256), ("rows of few channels", 320)])
def test_copies_ask_for_results_first(name: str, asked: int) -> None:
    """Blocks of 64 rows store 4 or 16 lines of each; the products ask for none of these."""
    plan, blocks = group_of(*GROUPS[name])
    body = row_block_loops(blocks, choices_of(plan, blocks), frozenset()).body
    target = blocks.nests[-1].target.name
    found = [at for name, at in asked_for(body, {}) if name == target]
    assert found == [16 * line for line in range(asked)]


def test_results_that_blocks_add_up_are_near() -> None:
    _, blocks = group_of(*GROUPS["weight gradient"])
    assert stored_rows(blocks.nests[-1], (*blocks.outer, blocks.base)) is None


def test_lines_are_spread_over_the_points_of_a_tile() -> None:
    """One line beside every fourth vector of tiles of 16."""
    plan, blocks = group_of(*GROUPS["rows"])
    choices = choices_of(plan, blocks)
    _, touched = fetched_beside(blocks.nests, (blocks.base,), blocks.rows, frozenset())
    (rows,), (rest,) = spread(blocks.nests, choices, 1, touched)
    assert rows.asked is not None
    assert rest.asked == (rows.asked[1], rows.all_lines)
    tile, point = Axis("tile", rows.asked[1] // 4), Axis("point", 16)
    fetch = rows.at_point(Turns([tile]), point, 16)
    asking = [
        number
        for number in range(16)
        if all(scalar_value(turn, {point: number}, {}) < end for turn, end in fetch.limits)
    ]
    assert asking == [0, 4, 8, 12]


def test_nests_on_vectors_ask_beside_the_busiest_alone() -> None:
    program = convolution_program((1, 56, 56, 64, 64), epilogue="residual")
    _, blocks = group_of(program, WINOGRAD(tile=4, block=14))
    positions = (*blocks.outer, blocks.base)
    busiest, touched = fetched_beside(blocks.nests, positions, blocks.rows, frozenset())
    assert shares_of_time(blocks.nests, busiest) == {busiest: 1.0}
    assert spread(blocks.nests, [], busiest, touched)[busiest] == touched
