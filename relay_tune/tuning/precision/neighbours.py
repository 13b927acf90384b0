"""Which layers read what others have computed, and how much each computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from relay_tune.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay_tune.ir.reached import reached
from relay_tune.ir.traversal import children
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import example_shape
from relay_tune.transform.quantize.layers import QuantizableLayer


def neighbours(layers: Sequence[QuantizableLayer]) -> list[tuple[str, str]]:
    """Pairs of names: what the second reads was computed by the first, and by no layer between.

    Where both have one precision, data need not be converted between them.
    """
    names: dict[Expr, str] = {call.layer: layer.name for layer in layers for call in layer.calls}
    found: dict[tuple[str, str], None] = {}
    for call, name in names.items():
        found.update(dict.fromkeys((before, name) for before in _before(call, names)))
    return [pair for pair in found if pair[0] != pair[1]]


def shares(layers: Sequence[QuantizableLayer]) -> dict[str, float]:
    """The part that each layer has in the multiplications of all."""
    counts = {layer.name: sum(map(_multiplications, layer.calls)) for layer in layers}
    total = sum(counts.values()) or 1
    return {name: count / total for name, count in counts.items()}


def _before(call: Expr, names: dict[Expr, str]) -> Iterable[str]:
    """The layers whose results reach a layer through other operators."""

    def before(node: Expr) -> Sequence[Expr]:
        passes = isinstance(node, Call | Tuple | TupleGetItem) and node not in names
        return children(node) if passes else ()

    return (names[node] for node in reached(children(call), before) if node in names)


def _multiplications(call: WeightedLayer) -> int:
    """One for each element of the result and each weight that it sums."""
    weight = call.weight.data
    channels = max(1, weight.shape[call.output_axis])
    return prod(example_shape(call.layer)) * int(weight.size // channels)
