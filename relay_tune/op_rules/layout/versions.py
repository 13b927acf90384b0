"""The versions of a value: as the program has it, channels last, or flattened channels last.

Rules ask for the version they want. A version that no rule made is made on demand from another one,
once, so transforms appear only at the borders between operators of different layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from math import prod
from typing import TypeAlias

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.ir.provenance import made_as
from relay_tune.op.logical_shape import result_shape
from relay_tune.op_rules.matching import example_shape, rank, shape_code, static_shape
from relay_tune.op_rules.typed import call, constant_of, reshape, tuple_of
from relay_tune.quick_dataclass import dataclass

CHANNELS_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
CHANNELS_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}


Cost: TypeAlias = Callable[[Expr], float]
"""cost(typed expression over variables) -> how long its kernel takes, in any unit."""


class Version(Enum):
    """Which order the elements of a value have."""

    ORIGINAL = "original"
    CHANNELS_LAST = "channels last"
    FLAT_CHANNELS_LAST = "flattened channels last"


@dataclass
class Versions:
    """The versions that exist of each value of the original program.

    Attributes:
        cost: estimates a kernel; None where everything goes channels last.
        wanted_channels_last: original nodes that a convolution reads, perhaps by way of others.
        existing: by original node.
        unflattened: the channels-last shape that a flattened value came from, as reshape takes it.
    """

    cost: Cost | None = None
    wanted_channels_last: frozenset[Expr] = frozenset()
    existing: dict[Expr, dict[Version, Expr]] = field(default_factory=dict)
    unflattened: dict[Expr, tuple[int, ...]] = field(default_factory=dict)

    def has(self, node: Expr, version: Version) -> bool:
        """Whether a version exists, or costs nothing because the value is a constant."""
        return version in self.existing[node] or isinstance(node, Constant)

    def was_flattened(self, node: Expr) -> bool:
        """Whether the value was flattened from channels last; a constant never was."""
        return Version.FLAT_CHANNELS_LAST in self.existing[node]

    def original(self, node: Expr) -> Expr:
        """The value as the program has it."""
        found = self.existing[node]
        if Version.ORIGINAL not in found:
            with made_as(result_shape(node.type)):
                found[Version.ORIGINAL] = self._to_original(node)
        return found[Version.ORIGINAL]

    def channels_last(self, node: Expr) -> Expr:
        """The value with axis 1 moved to the end."""
        found = self.existing[node]
        if Version.CHANNELS_LAST not in found:
            original = self.original(node)
            with made_as(result_shape(node.type)):
                found[Version.CHANNELS_LAST] = to_channels_last(original)
        return found[Version.CHANNELS_LAST]

    def broadcast_channels_last(self, node: Expr, dims: int) -> Expr:
        """A value of at most `dims` axes, so that it broadcasts in channels-last order."""
        own_rank = rank(node)
        if own_rank == dims:
            return self.channels_last(node)
        if own_rank == 0:
            return self.original(node)
        return to_channels_last(_with_leading_axes(self.original(node), dims - (own_rank or 0)))

    def _to_original(self, node: Expr) -> Expr:
        found = self.existing[node]
        if isinstance(node, Tuple):
            return tuple_of([self.original(part) for part in node.fields])
        if Version.CHANNELS_LAST in found:
            return to_channels_first(found[Version.CHANNELS_LAST])
        flat = found[Version.FLAT_CHANNELS_LAST]
        restored = to_channels_first(_reshaped(flat, self.unflattened[node]))
        return _reshaped(restored, shape_code(node) or ())


def channels_last_rank(call_: Call, versions: Versions) -> int | None:
    """The rank of the first argument if it is channels last already."""
    data = call_.arguments[0]
    dims = rank(data)
    if dims not in CHANNELS_FIRST or Version.CHANNELS_LAST not in versions.existing[data]:
        return None
    return dims


def channels_last_is_cheaper(arguments: tuple[Expr, ...], versions: Versions) -> bool:
    """Whether fewer elements have to be moved for channels last than for the original order."""
    if not any(Version.CHANNELS_LAST in versions.existing[a] for a in arguments):
        return False
    to_last = _moved_elements(arguments, versions, Version.CHANNELS_LAST)
    return to_last <= _moved_elements(arguments, versions, Version.ORIGINAL)


def _moved_elements(arguments: tuple[Expr, ...], versions: Versions, wanted: Version) -> int:
    missing = {a for a in arguments if not versions.has(a, wanted)}
    return sum(prod(example_shape(a)) for a in missing if rank(a))


def last_position(axis: int, dims: int) -> int:
    """Where axis `axis` of a channels-first tensor stands in the channels-last one."""
    axis %= dims
    return axis if axis == 0 else (dims - 1 if axis == 1 else axis - 1)


def last_order(dims: int) -> tuple[int, ...]:
    """The axes of a channels-first tensor in channels-last order."""
    return (0, *range(2, dims), 1)


def first_order(dims: int) -> tuple[int, ...]:
    """The axes of a channels-last tensor in channels-first order."""
    return (0, dims - 1, *range(1, dims - 1))


def to_channels_last(expr: Expr) -> Expr:
    """`expr` with axis 1 at the end."""
    dims = rank(expr) or 0
    return _moved(expr, last_order(dims), CHANNELS_FIRST[dims], CHANNELS_LAST[dims])


def to_channels_first(expr: Expr) -> Expr:
    """`expr` with its last axis as axis 1."""
    dims = rank(expr) or 0
    return _moved(expr, first_order(dims), CHANNELS_LAST[dims], CHANNELS_FIRST[dims])


def relayout(expr: Expr, source: str, target: str) -> Expr:
    """`expr` from one layout of plain axes to another."""
    order = tuple(source.index(letter) for letter in target)
    return _moved(expr, order, source, target)


def _moved(expr: Expr, order: tuple[int, ...], source: str, target: str) -> Expr:
    if isinstance(expr, Constant):
        return constant_of(expr.data.transpose(order))
    shape = static_shape(expr)
    if shape is not None:
        longer = [axis for axis in order if shape[axis] != 1]
        if longer == sorted(longer):
            return reshape(expr, [shape[axis] for axis in order])
    return call("layout_transform", expr, src_layout=source, dst_layout=target)


def _with_leading_axes(expr: Expr, count: int) -> Expr:
    """`expr` with so many axes of size 1 before its own."""
    if isinstance(expr, Constant):
        return constant_of(expr.data.reshape((1,) * count + expr.data.shape))
    return call("expand_dims", expr, axis=0, num_newaxis=count)


def _reshaped(expr: Expr, shape: tuple[int, ...]) -> Expr:
    if isinstance(expr, Constant):
        return constant_of(expr.data.reshape(shape))
    return reshape(expr, shape)
