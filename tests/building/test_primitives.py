"""Where primitives are compiled: here, or in other processes once these pay."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building import primitives, workers
from relay_tune.codegen.known_objects import KnownObjects

SIX_KERNELS = """
def @main(%x: Tensor[(4, 6), float32]) {
  (sum(%x, axis=[0]), sum(%x, axis=[1]), max(%x, axis=[0]), max(%x, axis=[1]),
   transpose(%x), cumsum(%x, axis=0))
}
"""


@pytest.mark.parametrize(
    ("least", "processes"), [(0, 1), (8000, 1), (primitives.LEAST_TEXT_FOR_WORKERS, 0)]
)
def test_processes_start_with_enough_text(
    monkeypatch: pytest.MonkeyPatch, least: int, processes: int
) -> None:
    monkeypatch.setattr(primitives, "LEAST_TEXT_FOR_WORKERS", least)
    monkeypatch.setattr(workers, "available_processors", lambda: 2)
    monkeypatch.setattr(workers, "KERNELS", KnownObjects(1 << 20))  # nothing was compiled before
    started: list[str] = []
    start = workers.start_worker

    def counted(module: str, arguments: list[str]) -> object:
        started.append(module)
        return start(module, arguments)

    monkeypatch.setattr(workers, "start_worker", counted)
    x = np.arange(24, dtype="float32").reshape(4, 6)
    found = rt.build(rt.parse(SIX_KERNELS))(x)
    assert len(started) == processes
    expected = (x.sum(0), x.sum(1), x.max(0), x.max(1), x.T, x.cumsum(0))
    for result, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
