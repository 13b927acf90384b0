"""The user's nodes that a primitive computes, by name.

A node of an ONNX file has a name; a node of Relay text or of a Python function is called by where
it stands, such as `model.relay:5:3`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from relay_tune.errors import NodeSpan, Span
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.traversal import post_order

LONGEST_NAME = 48
"""Characters of a node's name in a title; longer ones lose their middle."""


def node_names(function: Function) -> tuple[str, ...]:
    """The names of the nodes that a primitive computes, each once; its main node comes first.

    The main node is the first of those that are hardest to fuse, such as a convolution.
    """
    calls = list(_named_calls(function))
    if not calls:
        return ()
    hardest = max(_weight(kind) for _, kind in calls)
    main = next(name for name, kind in calls if _weight(kind) == hardest)
    return tuple(dict.fromkeys([main, *(name for name, _ in calls)]))


def kernel_title(title: str, nodes: Sequence[str]) -> str:
    """A kernel for people: the first of the nodes that share it, how many more, what it computes.

    >>> kernel_title("conv2d+relu 1x64x56x56", ["conv1", "conv2", "conv3"])
    'conv1 (+2): conv2d+relu 1x64x56x56'
    """
    if not nodes:
        return title
    others = f" (+{len(nodes) - 1})" if len(nodes) > 1 else ""
    return f"{_shortened(nodes[0])}{others}: {title}"


def unique_titles(titles: Iterable[str]) -> list[str]:
    """Titles of which no two are the same: the second of equal ones ends with `#2`, and so on."""
    given = list(titles)
    taken, seen = set(given), set[str]()
    result: list[str] = []
    for title in given:
        unique, number = title, 1
        while unique in (seen if number == 1 else taken):
            number += 1
            unique = f"{title} #{number}"
        seen.add(title)
        taken.add(unique)
        result.append(unique)
    return result


def _named_calls(function: Function) -> Iterator[tuple[str, FusionKind]]:
    for node in post_order(function.body):
        if isinstance(node, Call) and isinstance(node.callee, Operator) and node.span is not None:
            yield _name(node.span), node.callee.kind


def _name(span: Span) -> str:
    if isinstance(span, NodeSpan):
        return span.name
    return str(replace(span, source=PurePath(span.source).name))


def _weight(kind: FusionKind) -> int:
    """Kinds that only move or map elements count alike."""
    return kind if kind >= FusionKind.REDUCTION else 0


def _shortened(name: str) -> str:
    line = " ".join(name.split())
    if len(line) <= LONGEST_NAME:
        return line
    half = (LONGEST_NAME - 2) // 2
    return f"{line[:half]}..{line[-half:]}"
