"""What a group asks for one block ahead."""

import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.loops.prefetch.next_block import read_ahead, tensors_ahead
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops import Loop, LoopKind, Prefetch
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.touched import statements
from relay_tune.tensor.walk import axes_of
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER
from tests.schedule.row_groups.test_groups import right, softmax_of


def plan_of(*shape: int, operation: str = "exp", rows: int = 8) -> Plan:
    x = input_tensor("x", shape, "float32")
    program = TensorProgram((x,), (softmax_of(x, operation),), ())
    return plan_program(program).with_algorithm(ROWS(block=rows))


def blocks_of(plan: Plan) -> RowBlocks:
    (blocks,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    return blocks


def asked_for(plan: Plan) -> dict[str, list[int]]:
    """For each nest how many elements ahead it asks for something."""
    blocks = blocks_of(plan)
    found = read_ahead(blocks.nests, blocks.base, blocks.rows)
    return {
        nest.name: [each.apart for each in ahead]
        for nest, ahead in zip(blocks.nests, found, strict=True)
        if ahead
    }


def prefetches(plan: Plan) -> list[Prefetch]:
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    (kernel,) = apply_schedule(plan, schedule).kernels
    return [node for node in statements(kernel.body) if isinstance(node, Prefetch)]


def test_the_exponentials_ask_for_the_data_of_the_next_block():
    plan = plan_of(256, 128)
    assert asked_for(plan) == {"powers": [8 * 128]}
    assert {
        tensor.name for tensor in tensors_ahead(blocks_of(plan).nests, blocks_of(plan).base)
    } == {"x"}


def test_fetches_go_into_the_first_cache():
    found = prefetches(plan_of(256, 128))
    assert found
    assert all(fetch.buffer.name == "x" and fetch.near for fetch in found)
    assert not any(fetch.for_write for fetch in found)


def test_little_arithmetic_asks_for_nothing():
    x = input_tensor("x", (256, 128), "float32")
    k = Axis("k", 128)
    highest = compute("highest", (256,), lambda i: reduce("max", [k], x[i, k]))
    distance = compute("distance", x.shape, lambda i, j: highest[i] - x[i, j])
    plan = plan_program(TensorProgram((x,), (distance,), ())).with_algorithm(ROWS(block=8))
    assert asked_for(plan) == {}
    assert prefetches(plan) == []


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((64, 120), "fits the first cache"),
        ((256, 120), "rows begin in the middle of a line"),
        ((8, 4096), "there is one block"),
    ],
)
def test_what_gains_nothing_is_left_out(shape, reason):
    assert asked_for(plan_of(*shape)) == {}, reason


def test_a_result_that_holds_intermediate_values_is_not_asked_for():
    blocks = blocks_of(plan_of(256, 128))
    written = {nest.target for nest in blocks.nests}
    assert not tensors_ahead(blocks.nests, blocks.base) & written


@pytest.mark.parametrize("shape", [(256, 128), (100, 512), (3, 70, 64)])
@pytest.mark.parametrize("rows", [1, 16])
def test_results_are_right(shape, rows):
    assert right(plan_of(*shape), ROWS(block=rows))


def test_the_products_of_a_transform_ask_once_for_what_they_share():
    plan = plan_program(convolution_program((1, 48, 96, 32, 16)))
    plan = plan.with_algorithm(WINOGRAD(tile=4, block=12))  # half a row of tiles
    _, schedule = plan.default_under_algorithm(SERVER, 1)
    (kernel,) = apply_schedule(plan, schedule).kernels
    found = [node for node in statements(kernel.body) if isinstance(node, Prefetch) and node.near]
    assert found
    for loop in statements(kernel.body):
        if isinstance(loop, Loop) and loop.kind is LoopKind.UNROLLED and loop.axis.extent > 1:
            inside = [fetch for fetch in statements(loop.body) if fetch in found]
            assert all(loop.axis in axes_of(*fetch.indices) for fetch in inside)
