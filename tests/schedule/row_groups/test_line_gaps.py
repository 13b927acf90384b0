"""Gaps in the local buffers of a group."""

from math import prod

import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.walk import loads
from tests.schedule.rewrites.winograd.test_stages import convolution_program, relative_error
from tests.schedule.row_groups.test_groups import attention
from tests.schedule.running import runnable_targets


def group_of(shape, algorithm):
    plan = plan_program(convolution_program(shape), algorithm)
    (group,) = plan.steps
    assert isinstance(group, RowBlocks)
    return group


def coefficients(group, buffer):
    """How many elements apart neighbours on the axes of all accesses of a buffer are."""
    forms = []
    for nest in (*group.nests, *group.last):
        read = [load for root in nest.roots for load in loads(root) if load.tensor is buffer]
        forms += [axis_affine(load.indices[0]) for load in read]
        forms += [axis_affine(nest.index)] if nest.target is buffer else []
    return {apart for form in forms for apart in form.terms.values()}


def test_planes_that_share_places_get_a_gap():
    # planes of 8 tiles x 64 channels: 2048 bytes, two sets of L1
    group = group_of((1, 16, 32, 64, 20), WINOGRAD(tile=4, block=8))
    data, products = group.buffers
    assert prod(data.shape) == 36 * (8 * 64 + 16)
    assert coefficients(group, data) >= {1, 64, 8 * 64 + 16}
    assert prod(products.shape) == 36 * 8 * 20


def test_planes_that_fall_into_many_places_do_not():
    group = group_of((1, 16, 20, 64, 20), WINOGRAD(tile=4, block=5))  # 20 lines: 16 sets
    assert [prod(buffer.shape) for buffer in group.buffers] == [36 * 5 * 64, 36 * 5 * 20]


@pytest.mark.parametrize(("keys", "apart"), [(197, 208), (49, 64), (64, 64), (33, 33)])
def test_rows_begin_with_lines_where_that_takes_little(keys, apart):
    plan = plan_program(attention(2, 800, keys, 32), ROWS(block=8))
    (group,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    scores = max(group.buffers, key=lambda buffer: prod(buffer.shape))
    assert prod(scores.shape) == 8 * apart
    assert apart in coefficients(group, scores)


@pytest.mark.parametrize("shape", [(1, 16, 32, 64, 20), (1, 16, 32, 64, 64), (2, 8, 16, 128, 32)])
def test_native_code_agrees(shape):
    tiles = shape[2] // 4
    error = relative_error(
        convolution_program(shape), WINOGRAD(tile=4, block=tiles), runnable_targets()[0], 2
    )
    assert error <= 2e-5
