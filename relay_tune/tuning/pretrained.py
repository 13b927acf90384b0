"""The cost model that ships with the package: what was learned from other networks.

`benchmarks/searching/pretrain.py` makes its file. It knows no machine's cache sizes or rates, only
how schedules that are described relative to them compare.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from cost_model import CostModel
from relay_tune.schedule.features.names import FEATURE_NAMES

PRETRAINED = Path(__file__).with_name("pretrained.json")


def new_cost_model(seed: int) -> CostModel:
    """A model of schedules that knows what the shipped one knows."""
    model = CostModel(seed, feature_names=FEATURE_NAMES)
    model.start_from(_shipped_model())
    return model


@cache
def _shipped_model() -> CostModel:
    """The shipped model, read and checked once in a process."""
    model = CostModel(0, feature_names=FEATURE_NAMES)
    model.load(PRETRAINED)
    return model
