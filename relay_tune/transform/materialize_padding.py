"""Let the producer of a tensor write the padding that its consumers need.

before: %0 = nn.relu(..); nn.conv2d(%0, W, padding=[1, 1]); add(%0, ..)
after:  %1 = nn.pad(nn.relu(..), pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]])
        nn.conv2d(%1, W, padding=[0, 0]); add(strided_slice(%1), ..)

A kernel that reads a padded tensor needs no border cases, and fusion makes the pad the last step of
the kernel that computes the tensor, so it costs almost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar

import numpy as np

from relay_tune.errors import Span
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_as, made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.padding import PADDING, Padding, Widths
from relay_tune.op_rules.typed import call, constant_of, recall, slice_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class MaterializePadding:
    """Moves the padding of convolutions, and of lone max pools, into explicit pads."""

    name: ClassVar[str] = "materialize_padding"

    def __call__(self, module: Module) -> Module:
        """The module with explicit padding."""
        return map_scopes(module, _materialized)


@dataclass
class _Padded:
    """What is known of the padding of one value: who wants how much, and what stands for it.

    `span` is that of the first consumer.
    """

    widths: Widths
    value: float
    consumers: set[Expr] = field(default_factory=set)
    span: Span | None = None
    padded: Expr | None = None
    inner: Expr | None = None


def _materialized(body: Expr) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    wanted = _wanted_padding(nodes)
    if not wanted:
        return body
    done: dict[Expr, Expr] = {}
    for node in nodes:
        parts = [done[child] for child in children(node)] if same_scope(node) else []
        done[node] = rebuild(node, parts) if parts else node
        with made_for(node.span):
            for source, padding in _padding_read_by(node, wanted):
                done[node] = _reading_padded(node, done[node], source, padding)
        if node in wanted:
            with made_for(node.span or wanted[node].span), made_as(_noted_shape(node)):
                done[node] = _padded(wanted[node], done[node])
    return done[body]


def _noted_shape(node: Expr) -> tuple[object, ...]:
    """The shape that the user knows of a value."""
    noted = None if node.span is None else node.span.shape
    return _shape(node) if noted is None else noted


def _wanted_padding(nodes: list[Expr]) -> dict[Expr, _Padded]:
    """The largest padding that the consumers of each value want, if they agree on its value."""
    wanted: dict[Expr, _Padded] = {}
    for node in nodes:
        need = _need(node)
        if need is None:
            continue
        source, padding = need
        widths, value = padding.widths, padding.value
        known = wanted.get(source)
        if known is None:
            wanted[source] = _Padded(widths, value, {node}, node.span)
        elif known.value == value == 0.0:
            known.widths = _largest(known.widths, widths)
            known.consumers.add(node)
        elif value == 0.0:
            wanted[source] = _Padded(widths, value, {node}, node.span)
    return wanted


def _need(node: Expr) -> tuple[Expr, Padding] | None:
    """(data, padding) of a consumer that pads; None of any other."""
    rule = PADDING.rule_of(node)
    if rule is None or not isinstance(node, Call) or isinstance(node.arguments[0], Constant):
        return None
    padding = rule(node)
    return None if padding is None else (node.arguments[0], padding)


def _largest(first: Widths, second: Widths) -> Widths:
    pairs = zip(first, second, strict=True)
    return tuple((max(a, c), max(b, d)) for (a, b), (c, d) in pairs)


def _padded(padding: _Padded, value: Expr) -> Expr:
    """Make the padded tensor; what everybody else reads is the slice of it that is `value`."""
    type_ = tensor_type(value)
    assert type_ is not None  # a rule read its sizes
    fill = constant_of(np.asarray(padding.value, dtype=type_.dtype))
    padding.padded = call("nn.pad", value, fill, pad_width=padding.widths)
    begin = [before for before, _ in padding.widths]
    end = [add(start, size) for start, size in zip(begin, _shape(value), strict=True)]
    padding.inner = slice_of(padding.padded, begin, end)
    return padding.inner


def _shape(expr: Expr) -> tuple[Dim, ...]:
    type_ = tensor_type(expr)
    return () if type_ is None else type_.shape


def _padding_read_by(node: Expr, wanted: dict[Expr, _Padded]) -> Iterable[tuple[Expr, _Padded]]:
    if not isinstance(node, Call) or not node.arguments:
        return
    padding = wanted.get(node.arguments[0])
    if padding is not None and node in padding.consumers:
        yield node.arguments[0], padding


def _reading_padded(node: Expr, new: Expr, source: Expr, padding: _Padded) -> Expr:
    """The consumer without padding of its own, reading as much of the padded tensor as it needs."""
    need = _need(node)
    if need is None or not isinstance(new, Call) or padding.padded is None:
        return new
    widths = need[1].widths
    data = padding.padded
    if widths != padding.widths:
        limits = list(zip(padding.widths, widths, _shape(source), strict=True))
        begin = [most[0] - own[0] for most, own, _ in limits]
        end = [add(most[0] + own[1], size) for most, own, size in limits]
        data = slice_of(data, begin, end)
    spatial = len(widths) - 2
    return recall(new, (data, *new.arguments[1:]), padding=(0,) * spatial)
