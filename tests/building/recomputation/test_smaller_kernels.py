"""Kernels with less memory of their own, where a limit has no room for those that were chosen."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.build import build
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule

PRODUCT = """
def @main(%x: Tensor[(256, 512), float32], %w: Tensor[(512, 512), float32]) {
  nn.softmax(nn.dense(%x, %w))
}"""
OPERANDS = 256 * 512 * 4
"""The product, which lies between the kernels."""

PANEL = 512 * 512 * 4
"""A copy of all weights, which the product makes for itself."""


def as_written(_: PrimitiveKey, plan: Plan) -> Schedule:
    """The direct schedule of each kernel."""
    return plan.default_under_algorithm(machine_of(native_target()), 1)[1]


def test_a_limit_is_kept_by_schedules_with_smaller_buffers() -> None:
    module = rt.parse(PRODUCT)
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(s, np.float32) for s in ((256, 512), (512, 512))]
    plain = build(module, threads=1, schedules=as_written)
    assert plain.workspace_bytes >= OPERANDS + PANEL
    limit = OPERANDS + PANEL // 2
    limited = build(module, threads=1, schedules=as_written, memory_limit=limit)
    assert limited.workspace_bytes <= limit
    np.testing.assert_allclose(limited(*inputs), plain(*inputs), rtol=1e-3, atol=1e-6)


def test_the_least_limit_is_that_of_the_smallest_kernels() -> None:
    with pytest.raises(InputError) as caught:
        rt.build(rt.parse(PRODUCT), threads=1, memory_limit=0)
    least = int(caught.value.message.split(" is ")[-1].rstrip(".").replace(",", ""))
    limited = rt.build(rt.parse(PRODUCT), threads=1, memory_limit=least)
    assert limited.workspace_bytes <= least
