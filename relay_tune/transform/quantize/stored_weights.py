"""How the weights of annotated layers are stored: int8, with a scale for each output channel."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from relay_tune.ir.module import Module
from relay_tune.op_rules.quantize.annotations import observation
from relay_tune.op_rules.quantize.questions import WEIGHT_LIMIT
from relay_tune.transform.quantize.layers import straight_nodes
from relay_tune.transform.quantize.readers import read_tensors
from relay_tune.transform.quantize.stored_type import StoredType

MOST_BIAS = 2.0**30
"""The largest bias in units of a layer's sums."""


WEIGHT_LIMITS = {8: WEIGHT_LIMIT, 7: 64}
"""The largest magnitude of weights by their bits.

Of 7 bits two products with bytes add up to at most 2 * 64 * 255, which 16 bits hold.
"""


def weight_types(
    annotated: Module,
    data: Mapping[str, StoredType],
    bits: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, StoredType]:
    """How each weight is stored, by name, where its data are stored as given.

    Weights have 8 bits, or those that `bits` says of their layers.
    """
    limits = {f"{layer}.weight": WEIGHT_LIMITS[count] for layer, count in bits.items()}
    scales: dict[str, np.ndarray] = {}
    floors: dict[str, np.ndarray] = {}
    smallest = _smallest_scales(annotated, data)
    for found in map(observation, straight_nodes(annotated.main.body)):
        if found is None or found.constant is None:
            continue
        if found.is_bias:
            numbers = np.abs(found.constant.astype(np.float64))
            floor = numbers / (MOST_BIAS * float(data[found.factors[0]].scale))
            weight = found.factors[1]
            floors[weight] = np.maximum(floors.get(weight, 0.0), floor)
        elif found.axis is not None:
            limit = limits.get(found.tensor, WEIGHT_LIMIT)
            least = _scales(found.constant, found.axis, limit)
            scales[found.tensor] = np.maximum(least, smallest.get(found.tensor, 0.0))
    return {
        name: StoredType.symmetric("int8", np.maximum(scale, floors.get(name, 0.0)))
        for name, scale in scales.items()
    }


def _smallest_scales(annotated: Module, data: Mapping[str, StoredType]) -> dict[str, float]:
    """The least scale of each weight whose product with that of its data is a normal float32."""
    tiny = float(np.finfo(np.float32).tiny)
    dtype = next((each.dtype for each in data.values()), "uint8")
    return {
        f"{layer}.weight": tiny
        / min([1.0, *(float(data[each].scale) for each in names if each in data)])
        for layer, names in read_tensors(annotated, dtype).items()
    }


def _scales(weight: np.ndarray, axis: int, limit: int) -> np.ndarray:
    """The least scales with which no weight is cut off; of channels of zeros the least of others.

    The product with a scale of data has to be a positive float32, and biases have to fit int32.
    """
    others = tuple(each for each in range(weight.ndim) if each != axis)
    most = np.abs(weight.astype(np.float64)).max(axis=others, initial=0.0)
    least = most[most > 0].min() if most.any() else float(limit)
    return np.asarray(np.where(most > 0, most, least) / limit, np.float64)
