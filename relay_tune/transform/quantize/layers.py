"""The layers of a network that can be computed in integers, and their names."""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.errors import NodeSpan
from relay_tune.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.fold.layers import weighted_layer
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.quantize.annotations import operator_title
from relay_tune.op_rules.quantize.questions import integer_layer_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.graph_normal_form import ordered_nodes
from relay_tune.transform.module_pass import same_scope

CONTROL_FLOW = "it is inside of control flow"
NO_RULE = "it has no form in integers"


@dataclass(frozen=True, slots=True, eq=False)
class QuantizableLayer:
    """All calls with one weight.

    Attributes:
        name: unique in its network; the node's name where the model gives one.
        operator: what the calls are of.
        weight: the weight that they share.
        calls: the layer at each of its applications.
        reason: why it has to stay in float32; None where it has not.
    """

    name: str
    operator: str
    weight: Constant
    calls: tuple[WeightedLayer, ...]
    reason: str | None = None


class Names:
    """Gives out each name once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, node: Expr, suffix: str = "") -> str:
        """A name for a node's value: that of the model, or else its operator and a number."""
        match node:
            case Var():
                base = node.name
            case _ if isinstance(node.span, NodeSpan) and node.span.name:
                base = node.span.name
            case _:
                base = (operator_title(node) or "tensor").rpartition(".")[2]
        name, number = base + suffix, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}{suffix}"
        self._taken.add(name)
        return name


def straight_nodes(body: Expr) -> Iterator[Expr]:
    """What every run computes outside of control flow, operands first.

    Bindings of tensors are entered: sizes that a run tells are noted by them.
    """
    ordered = ordered_nodes(post_order(body, enter=same_scope))

    def enter(node: Expr) -> bool:
        if isinstance(node, Let):
            return node.value not in ordered
        return isinstance(node, Call | Tuple | TupleGetItem)

    return post_order(body, enter=enter)


def layers_of(module: Module, dtype: str) -> list[QuantizableLayer]:
    """All layers with constant weights of float32, in order; data would be stored as `dtype`."""
    found: dict[Constant, list[WeightedLayer]] = {}
    reasons: dict[Constant, str] = {}
    straight = set(straight_nodes(module.main.body))
    for function in module.functions.values():
        for node in post_order(function.body):
            layer = weighted_layer(node)
            if layer is None or layer.weight.data.dtype.name != "float32":
                continue
            found.setdefault(layer.weight, []).append(layer)
            if node not in straight:
                reasons[layer.weight] = CONTROL_FLOW
            elif not _has_form(node, dtype):
                reasons.setdefault(layer.weight, NO_RULE)
    names = Names()
    return [
        QuantizableLayer(
            names.of(calls[0].layer),
            operator_title(calls[0].layer),
            weight,
            tuple(calls),
            reasons.get(weight) or _odd_axes(calls),
        )
        for weight, calls in found.items()
    ]


def _has_form(node: Expr, dtype: str) -> bool:
    layer = integer_layer_of(node, dtype)
    type_ = None if layer is None else tensor_type(layer.layer.arguments[0])
    return type_ is not None and type_.dtype == "float32"


def _odd_axes(calls: list[WeightedLayer]) -> str | None:
    """A weight whose output channels lie on different axes has no scale for each."""
    return NO_RULE if len({layer.output_axis for layer in calls}) > 1 else None
