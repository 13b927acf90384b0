"""Turn channels-first networks into channels-last ones.

before: nn.relu(nn.conv2d(%x, W))                                     everything NCHW
after:  layout_transform(nn.relu(nn.conv2d(layout_transform(%x, NCHW -> NHWC), W', data_layout=
        "NHWC", kernel_layout="HWIO")), NHWC -> NCHW)

Kernels vectorise over channels, which are then next to each other in memory. Convolutions start a
channels-last region, where the estimated cost of a conversion is not more than it saves (see
`relay_tune.op_rules.layout.convolution`); pooling, arithmetic, concatenation and the like carry
it on. What an operator does is its rule in `relay_tune.op_rules.layout`; one without a rule that is
not element by element gets its arguments in the original order. A variable that is bound to a
channels-last value is channels last itself:

before: let %v: Tensor[(1, 8, ?, ?), float32] = nn.conv2d(%x, W); concatenate((%v, ..), axis=1)
after:  let %v: Tensor[(1, ?, ?, 8), float32] = nn.conv2d(..); concatenate((%v, ..), axis=3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, Function, Let, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, free_vars, post_order, rebuild
from relay_tune.ir.types import TensorType, Type
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.layout.pointwise import is_pointwise, pointwise
from relay_tune.op_rules.layout.table import LAYOUT
from relay_tune.op_rules.layout.versions import CHANNELS_LAST, Version, Versions, last_order
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.layout.kernel_cost import kernel_cycles
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class ChooseLayout:
    """Chooses the layout of images.

    Fields:
        layout: "cost" (channels last where that costs least), "NHWC" (channels last for every
            convolution) or "NCHW" (no change).
        machine: that costs are estimated for; by default the processor that runs the pass.
        accuracy: of the algorithms whose costs are estimated.
    """

    name: ClassVar[str] = "choose_layout"
    layout: str = "cost"
    machine: Machine = field(default_factory=lambda: native_target().machine)
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
        if not any(_starts_region(node) for node in nodes):
            return body
        cost = self._cost if self.layout == "cost" else None
        bound = _bound_images(nodes)
        versions = Versions(cost, _wanted_channels_last(nodes, bound))
        for node in nodes:
            with made_for(node.span):
                versions.existing[node] = _versions_of(node, versions, bound)
        with made_for(body.span):
            return versions.original(body)

    def _cost(self, body: Expr) -> float:
        return kernel_cycles(tuple(free_vars(body)), body, self.machine, self.accuracy)


def _starts_region(node: Expr) -> bool:
    rule = LAYOUT.rule_of(node)
    return rule is not None and rule.starts_region


def _bound_images(nodes: Sequence[Expr]) -> dict[Expr, Expr]:
    """The values of variables that are images, of which no closure reads the variable."""
    lets = [node for node in nodes if isinstance(node, Let) and _is_image(node.var.type)]
    if not lets:
        return {}
    kept = {var for node in nodes if isinstance(node, Function) for var in free_vars(node)}
    return {let.var: let.value for let in lets if let.var not in kept}


def _is_image(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and len(type_.shape) in CHANNELS_LAST


def _wanted_channels_last(nodes: Sequence[Expr], bound: Mapping[Expr, Expr]) -> frozenset[Expr]:
    """The values of `nodes`, producers first, that reach a convolution as its data, or a pool.

    So do those that the program itself makes channels last. What is behind a pool is too small to
    matter. On the way are operators that work in either layout.
    """
    wanted: set[Expr] = set()
    for node in reversed(nodes):
        rule = LAYOUT.rule_of(node)
        if isinstance(node, Call) and rule is not None and rule.reads_channels_last(node):
            wanted.add(node.arguments[0])
        elif node in wanted:
            wanted.update([bound[node]] if node in bound else _passed_on(node))
    return frozenset(wanted)


def _passed_on(node: Expr) -> Iterable[Expr]:
    if isinstance(node, Tuple):
        return node.fields
    return node.arguments if isinstance(node, Call) and _follows(node) else ()


def _follows(call: Call) -> bool:
    """Whether an operator may work in the layout that its data has."""
    return LAYOUT.rule_of(call) is not None or is_pointwise(call)


def _versions_of(node: Expr, versions: Versions, bound: Mapping[Expr, Expr]) -> dict[Version, Expr]:
    value = bound.get(node)
    if isinstance(node, Var) and value is not None:
        is_moved = Version.CHANNELS_LAST in versions.existing[value]
        return {Version.CHANNELS_LAST: _moved(node)} if is_moved else {Version.ORIGINAL: node}
    if isinstance(node, Call):
        rule = LAYOUT.rule_of(node)
        convert = pointwise if rule is None else rule.convert
        converted = convert(node, versions)
        if converted is not None:
            return converted
    if isinstance(node, Tuple) and not any(isinstance(part, Tuple) for part in node.fields):
        return {}  # made when it is asked for: a concatenation reads the fields instead
    if not same_scope(node):
        return {Version.ORIGINAL: node}
    if isinstance(node, Let) and (var := _moved_variable(node, versions)) is not None:
        value = versions.channels_last(node.value)
        return {
            Version.ORIGINAL: replace(node, var=var, value=value, body=versions.original(node.body))
        }
    parts = [versions.original(child) for child in children(node)]
    return {Version.ORIGINAL: rebuild(node, parts)}


def _moved_variable(let: Let, versions: Versions) -> Var | None:
    """The variable that stands for that of a binding channels last, if there is one."""
    moved = versions.existing.get(let.var, {}).get(Version.CHANNELS_LAST)
    return moved if isinstance(moved, Var) else None


def _moved(var: Var) -> Var:
    """A variable for the value of another one channels last."""
    return replace(
        var, annotation=_channels_last_type(var.annotation), type=_channels_last_type(var.type)
    )


def _channels_last_type(type_: Type | None) -> Type | None:
    if not isinstance(type_, TensorType):
        return None
    return replace(type_, shape=tuple(type_.shape[axis] for axis in last_order(len(type_.shape))))
