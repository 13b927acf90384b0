"""Gradients in the memory of the new parameters, where memory is limited."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt

TABLE = """
def @main(%i: Tensor[(8, 4), int64], %e: Tensor[(1000, 16), float32],
          %w: Tensor[(3, 16), float32]) {
  nn.dense(mean(take(%e, %i, axis=0), axis=(1,)), %w)
}"""

GRADIENT = 1000 * 16 * 4
"""Bytes of the gradient of the table, which is scattered before the table is updated."""


def _step(limit: int | None = None) -> rt.training.TrainingStep:
    generator = np.random.default_rng(0)
    values = {"e": (1000, 16), "w": (3, 16)}
    first = {n: generator.standard_normal(shape, np.float32) for n, shape in values.items()}
    return rt.training.step(rt.parse(TABLE), parameters=first, threads=1, memory_limit=limit)


def test_gradients_of_tables_need_no_memory() -> None:
    plain, limited = _step(), _step(GRADIENT // 4)
    assert plain.model.workspace_bytes > GRADIENT
    assert limited.model.workspace_bytes <= GRADIENT // 4
    assert limited.program.slices == 1
    generator = np.random.default_rng(1)
    for _ in range(3):
        batch = generator.integers(0, 1000, (8, 4)), generator.integers(0, 3, 8)
        assert limited(*batch) == plain(*batch)
    for name, value in plain.parameters.items():
        np.testing.assert_array_equal(limited.parameters[name], value)


ALSO_READ = """
def @main(%x: Tensor[(64, 32), float32], %w: Tensor[(32, 32), float32],
          %y: Tensor[(64, 32), float32]) {
  let %a = nn.dense(%x, %w);
  (%y - %a, nn.softmax(%a), nn.dense(%y - %a, %w))
}"""


def test_values_that_others_read_keep_their_own_memory() -> None:
    module = rt.parse(ALSO_READ)
    generator = np.random.default_rng(1)
    inputs = [generator.standard_normal(s, np.float32) for s in ((64, 32), (32, 32), (64, 32))]
    limit = 64 * 32 * 4
    with pytest.raises(rt.InputError, match="the least limit"):
        rt.build(module, threads=1, memory_limit=limit - 1)
    limited = rt.build(module, threads=1, memory_limit=limit)
    assert limited.workspace_bytes == limit
    plain = rt.build(module, threads=1)
    for found, wanted in zip(limited(*inputs), plain(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)
