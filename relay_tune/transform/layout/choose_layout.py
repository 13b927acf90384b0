"""Turn channels-first networks into channels-last ones.

before: nn.relu(nn.conv2d(%x, W))                                     everything NCHW
after:  layout_transform(nn.relu(nn.conv2d(layout_transform(%x, NCHW -> NHWC), W', data_layout=
        "NHWC", kernel_layout="HWIO")), NHWC -> NCHW)

Kernels vectorise over channels, which are then next to each other in memory. Convolutions start a
channels-last region, where the estimated cost of a conversion is not more than it saves (see
`convolution_rule`); pooling, arithmetic, concatenation and the like carry it on; any operator
without a rule gets its arguments in the original order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.matching import operator_name
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.layout import (
    convolution_rule,
    movement_rules,
    pointwise_rules,
    window_rules,
)
from relay_tune.transform.layout.versions import Version, Versions
from relay_tune.transform.module_pass import map_scopes, same_scope

Rule = Callable[[Call, Versions], dict[Version, Expr] | None]

RULES: dict[str, Rule] = {
    **dict.fromkeys(convolution_rule.CONVOLUTION_OPERATORS, convolution_rule.convolution),
    **dict.fromkeys(window_rules.LAYOUT_OPERATORS, window_rules.layout_operator),
    **dict.fromkeys(pointwise_rules.AXIS_OPERATORS, pointwise_rules.along_axis),
    **dict.fromkeys(movement_rules.REDUCTIONS, movement_rules.reduction),
    "concatenate": pointwise_rules.concatenate,
    "nn.pad": movement_rules.pad,
    "strided_slice": movement_rules.strided_slice,
    "take": movement_rules.take,
    "transpose": movement_rules.transpose,
    "reshape": movement_rules.flatten,
    "nn.batch_flatten": movement_rules.flatten,
    "nn.dense": movement_rules.dense,
    "nn.matmul": movement_rules.dense,
}


ROUNDED_MACHINE = Machine(vector_bytes=64, registers=32)
"""A processor that nothing is known of."""


@dataclass(frozen=True)
class ChooseLayout:
    """Chooses the layout of images.

    Fields:
        layout: "cost" (channels last where that costs least), "NHWC" (channels last for every
            convolution) or "NCHW" (no change).
        machine: that costs are estimated for.
        accuracy: of the algorithms whose costs are estimated.
    """

    name: ClassVar[str] = "choose_layout"
    layout: str = "cost"
    machine: Machine = ROUNDED_MACHINE
    accuracy: Accuracy = Accuracy.FAST

    def __post_init__(self) -> None:
        if self.layout not in ("cost", "NHWC", "NCHW"):
            raise InputError(
                f"There is no layout {self.layout!r} to convert to.",
                remedy='use "cost", "NHWC" or "NCHW"',
            )

    def __call__(self, module: Module) -> Module:
        """The module in the chosen layout; the types of its functions stay."""
        return module if self.layout == "NCHW" else map_scopes(module, self._channels_last)

    def _channels_last(self, body: Expr) -> Expr:
        nodes = list(post_order(body, enter=same_scope))
        wanted = convolution_rule.read_by_convolutions(nodes, _follows)
        if not any(_is_convolution(node) for node in nodes):
            return body
        machine = self.machine if self.layout == "cost" else None
        versions = Versions(machine, self.accuracy, wanted)
        for node in nodes:
            with made_for(node.span):
                versions.existing[node] = _versions_of(node, versions)
        with made_for(body.span):
            return versions.original(body)


def _is_convolution(node: Expr) -> bool:
    return operator_name(node) in convolution_rule.CONVOLUTION_OPERATORS


def _follows(call: Call) -> bool:
    """Whether an operator may work in the layout that its data has."""
    return operator_name(call) in RULES or pointwise_rules.is_pointwise(call)


def _versions_of(node: Expr, versions: Versions) -> dict[Version, Expr]:
    if isinstance(node, Call):
        rule = RULES.get(operator_name(node) or "", pointwise_rules.pointwise)
        converted = rule(node, versions)
        if converted is not None:
            return converted
    if isinstance(node, Tuple) and not any(isinstance(part, Tuple) for part in node.fields):
        return {}  # made when it is asked for: a concatenation reads the fields instead
    if not same_scope(node):
        return {Version.ORIGINAL: node}
    parts = [versions.original(child) for child in children(node)]
    return {Version.ORIGINAL: rebuild(node, parts)}
