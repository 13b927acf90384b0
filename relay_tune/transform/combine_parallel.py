"""Combine layers that read the same data, where that is estimated to cost less.

before:
    (nn.relu(nn.bias_add(nn.dense(%x, A), a)), nn.relu(nn.bias_add(nn.dense(%x, B), b)))

after:
    %0 = nn.relu(nn.bias_add(nn.dense(%x, [A; B]), [a, b]));
    (strided_slice(%0, begin=[0], end=[64], axes=[1]),
     strided_slice(%0, begin=[64], end=[96], axes=[1]))

Elementwise calls that follow each of the layers are combined with them. It pays where channels are
few, so that register tiles are not full, where a kernel takes no longer than its call, and where
an algorithm transforms the data. It does not where parts have to be copied: a part is a view if it
is one piece of memory. Layers are not combined where products read parts that are none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from itertools import accumulate
from math import prod
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Call, Constant, Expr, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.traversal import children, post_order
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.fold.layers import weighted_layer
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.parallel.layers import (
    channels_of,
    joined_layer,
    parallel_key,
    sample_layer,
)
from relay_tune.op_rules.parallel.operands import is_pointwise, joined_call
from relay_tune.op_rules.typed import slice_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.branches.activation import branch_plan, has_branches
from relay_tune.transform.layout.kernel_cost import kernel_cycles
from relay_tune.transform.module_pass import map_scopes, replace_nodes, same_scope

LARGE = 1 << 22
"""Multiplications of a layer beside which the call of its kernel is nothing."""

FULL_TILE = 16
"""Channels of which a multiple leaves no tile of registers half empty."""

LEAST_GAIN = 0.03
"""The share of the estimate that has to be saved: estimates are not better than that."""


@dataclass(frozen=True)
class CombineParallel:
    """Combines parallel layers with constant weights.

    Fields:
        machine: that costs are estimated for; by default the processor that runs the pass.
        accuracy: of the algorithms whose costs are estimated.
    """

    name: ClassVar[str] = "combine_parallel"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with fewer layers."""
        return map_scopes(module, self._combined)

    def _combined(self, body: Expr) -> Expr:
        nodes = list(post_order(body, enter=same_scope))
        groups = _parallel_layers(body, nodes)
        if not groups:
            return body
        users = _users(nodes)
        replacements: dict[Expr, Expr] = {}
        for layers in groups:
            combination = _Combination([_Strand(layer, _chain(layer, users)) for layer in layers])
            if self._pays(combination, users):
                replacements.update(combination.slices())
        return replace_nodes(body, replacements)

    def _pays(self, combination: _Combination, users: dict[Expr, list[Expr]]) -> bool:
        """Whether the estimate for one layer and its slices is below that for all layers."""
        layers = [strand.layer for strand in combination.strands]
        if all(map(_is_large, layers)):
            return False
        readers = [_readers(end, users) for end in combination.ends]
        if not combination.has_views and any(_is_anchor(node) for each in readers for node in each):
            return False
        copies = sum(
            self._cycles(*combination.sample_copy(number))
            for number, each in enumerate(readers)
            if not combination.has_views or _is_copied(each)
        )
        channels = [channels_of(layer) for layer in layers]
        before = sum(self._cycles(*sample_layer(layers[0], count)) for count in channels)
        after = self._cycles(*sample_layer(layers[0], sum(channels)))
        return after + copies < (1 - LEAST_GAIN) * before

    def _cycles(self, data: Var, body: Call) -> float:
        return kernel_cycles((data,), body, self.machine, self.accuracy)


@dataclass(frozen=True, slots=True)
class _Strand:
    """A layer and the elementwise calls of which each is the only reader of the one before."""

    layer: WeightedLayer
    chain: list[Call]


@dataclass(slots=True)
class _Combination:
    """Parallel layers as one.

    Attributes:
        strands: the layers with what follows them.
        ends: the calls of the strands, one of each, whose results are slices of the whole.
        whole: the result for all channels.
    """

    strands: Sequence[_Strand]
    ends: list[Expr] = field(init=False)
    whole: Call = field(init=False)

    def __post_init__(self) -> None:
        self.ends = [strand.layer.layer for strand in self.strands]
        self.whole = joined_layer([strand.layer for strand in self.strands])
        for calls in zip(*(strand.chain for strand in self.strands), strict=False):
            following = joined_call(calls, self.ends, self.whole, self._axis)
            if following is None:
                return
            self.ends, self.whole = list(calls), following

    @property
    def _axis(self) -> int:
        return self.strands[0].layer.channel_axis

    @property
    def has_views(self) -> bool:
        """Whether the slices are certainly single pieces of memory."""
        shape = static_shape(self.whole) or ()
        return self._axis == len(shape) - 1 and prod(shape[: self._axis]) == 1

    def slices(self) -> dict[Expr, Expr]:
        """What stands for the end of each strand."""
        channels = [channels_of(strand.layer) for strand in self.strands]
        starts = accumulate(channels, initial=0)
        return {
            end: self._slice(self.whole, start, start + count)
            for end, start, count in zip(self.ends, starts, channels, strict=False)
        }

    def sample_copy(self, index: int) -> tuple[Var, Call]:
        """A copy of the slice for strand number `index`, to be estimated."""
        whole = Var("whole", self.whole.type, type=self.whole.type)
        return whole, self._slice(whole, 0, channels_of(self.strands[index].layer))

    def _slice(self, whole: Expr, begin: int, end: int) -> Call:
        shape = list(static_shape(whole) or ())
        low = [0] * len(shape)
        low[self._axis], shape[self._axis] = begin, end
        return slice_of(whole, low, shape)


def _parallel_layers(body: Expr, nodes: Sequence[Expr]) -> list[list[WeightedLayer]]:
    """The groups of two or more layers of one branch that can be one layer."""
    found: dict[Hashable, list[WeightedLayer]] = {}
    for node in nodes:
        layer = weighted_layer(node)
        if layer is not None and static_shape(layer.layer) and _is_plain(layer):
            found.setdefault(parallel_key(layer), []).append(layer)
    groups = [layers for layers in found.values() if len(layers) > 1]
    if not groups or not has_branches(body):
        return groups
    homes = branch_plan(body).homes
    split: dict[Hashable, list[WeightedLayer]] = {}
    for layers in groups:
        for layer in layers:
            key = (parallel_key(layer), id(homes[layer.layer]))
            split.setdefault(key, []).append(layer)
    return [layers for layers in split.values() if len(layers) > 1]


def _is_plain(layer: WeightedLayer) -> bool:
    """Whether each channel of the result depends on all of the data, which is no constant."""
    return layer.input_axis is not None and not isinstance(layer.layer.arguments[0], Constant)


def _users(nodes: Sequence[Expr]) -> dict[Expr, list[Expr]]:
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for child in children(node) if same_scope(node) else ():
            users.setdefault(child, []).append(node)
    return users


def _readers(node: Expr, users: dict[Expr, list[Expr]]) -> list[Expr]:
    """What reads a node, also as a field of a tuple; none if it is only a result."""
    found: list[Expr] = []
    for user in users.get(node, ()):
        found.extend(users.get(user, [user]) if isinstance(user, Tuple) else [user])
    return found


def _chain(layer: WeightedLayer, users: dict[Expr, list[Expr]]) -> list[Call]:
    chain: list[Call] = []
    end: Expr = layer.layer
    while len(readers := users.get(end, [])) == 1:
        reader = readers[0]
        if not isinstance(reader, Call) or not is_pointwise(reader) or reader.type != end.type:
            break
        chain.append(reader)
        end = reader
    return chain


def _is_copied(readers: Sequence[Expr]) -> bool:
    """Whether a view is a kernel nonetheless: of elementwise calls, or the copy of a result."""
    return not readers or any(not isinstance(each, Call) or is_pointwise(each) for each in readers)


def _is_anchor(node: Expr) -> bool:
    return FusionKind.OUTPUT_FUSABLE <= _kind(node) < FusionKind.OPAQUE


def _kind(node: Expr) -> FusionKind:
    if isinstance(node, Call) and isinstance(node.callee, Operator):
        return node.callee.kind
    return FusionKind.OPAQUE


def _is_large(layer: WeightedLayer) -> bool:
    """Whether a layer's kernel has full tiles, and work beside which its call is nothing."""
    channels = channels_of(layer)
    each = layer.weight.data.size // channels
    work = prod(static_shape(layer.layer) or ()) * each
    return channels % FULL_TILE == 0 and work >= LARGE
