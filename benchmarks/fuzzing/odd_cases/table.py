"""The random call of every operator that computes with floats."""

from __future__ import annotations

from benchmarks.fuzzing.odd_cases import elementwise, layers, movement
from benchmarks.fuzzing.odd_cases.case import Maker

CASES: dict[str, Maker] = {**elementwise.CASES, **layers.CASES, **movement.CASES}
"""By the name of the operator."""
