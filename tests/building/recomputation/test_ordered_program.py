"""Programs without a limit run in the order that needs less memory, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.recomputation import ordered_program

CHAIN = """let %a = nn.softmax(nn.matmul(%x, %w));
    let %b = nn.softmax(nn.matmul(%a, %w));
    let %c = nn.softmax(nn.matmul(%b, %w));
    let %d = nn.softmax(nn.matmul(%c, %w));
    (nn.matmul(%v, %d), nn.matmul(%v, %c), nn.matmul(%v, %b), nn.matmul(%v, %a))"""
"""Outputs that are named in the order opposite to that of what they are computed from."""

INPUTS = ", ".join(f"%{name}: Tensor[(64, 64), float32]" for name in "xwv")

STRAIGHT = f"def @main({INPUTS}) {{ {CHAIN} }}"

FORK = f"""def @main({INPUTS}, %n: int32) {{
  if (less(%n, 0)) {{ (%x, %w, %v, %x) }} else {{ {CHAIN} }}
}}"""


@pytest.mark.parametrize("text", [STRAIGHT, FORK])
def test_the_order_takes_less_memory_and_changes_no_bit(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(3)
    given = [generator.standard_normal((64, 64), np.float32) for _ in range(3)]
    inputs = given if text is STRAIGHT else [*given, np.int32(1)]
    ordered = rt.build(rt.parse(text), threads=1)
    monkeypatch.setattr(ordered_program, "prompt_order", lambda steps: [*range(len(steps.steps))])
    plain = rt.build(rt.parse(text), threads=1)
    assert most_bytes(ordered) < most_bytes(plain)
    for found, wanted in zip(ordered(*inputs), plain(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def most_bytes(model: rt.Model) -> int:
    """What the region that takes most of it plans."""
    return max(region.workspace for region in model.compiled().regions)
