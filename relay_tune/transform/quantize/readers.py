"""Which annotated tensors each annotated layer reads."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order
from relay_tune.op_rules.fold.layers import LAYERS
from relay_tune.op_rules.quantize.annotations import observation
from relay_tune.op_rules.quantize.questions import summed
from relay_tune.transform.quantize.layers import straight_nodes


def read_tensors(annotated: Module, dtype: str) -> dict[str, frozenset[str]]:
    """The names of the data of each layer, by the name of the layer."""
    found: dict[str, frozenset[str]] = {}
    for node in straight_nodes(annotated.main.body):
        if not isinstance(node, Call) or LAYERS.rule_of(node) is None:
            continue
        weight = observation(node.arguments[1])
        if weight is not None and weight.is_weight:
            layer = weight.tensor.removesuffix(".weight")
            found[layer] = found.get(layer, frozenset()) | _names(node.arguments[0], dtype)
    return found


def _names(data: Expr, dtype: str) -> frozenset[str]:
    """The annotations from which bytes are moved or added up to become these data."""

    def below(node: Expr) -> tuple[Expr, ...]:
        observed = observation(node)
        return children(node) if observed is None else summed(observed.data, dtype)

    found = map(observation, post_order(data, below=below))
    return frozenset(each.tensor for each in found if each is not None and each.is_data)
