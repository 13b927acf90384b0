"""Sessions of native programs: when they end."""

import gc

import numpy as np

from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse

TEXT = """
def @main(%n: int32, %x: Tensor[(?), float32]) { if (%n < 1) { exp(%x) } else { %x } }
"""


def test_a_model_in_a_cycle_of_references_is_freed() -> None:
    """Its session ends before its machine code goes, though both are garbage at once."""
    for _ in range(5):
        model = build(parse(TEXT), threads=1)
        model(1, np.ones(3, "float32"))
        cycle: list[object] = [model]
        cycle.append(cycle)
        vars(model)["cycle"] = cycle
        del model, cycle
        gc.collect()
