"""Where new nodes come from: what is made in place of a node has its span.

    with made_for(call.span):
        new = add(multiply(x, scale), shift)     both calls have the span of `call`

So kernels and errors can name the user's nodes however often passes rewrote them. A span also has
the shape that the user's program gives the node's value, whatever its layout becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeVar

from relay_tune.errors import Span

Node = TypeVar("Node")

_SPAN: ContextVar[Span | None] = ContextVar("span", default=None)


def inherited_span() -> Span | None:
    """The span of nodes that are made now and given none."""
    return _SPAN.get()


@contextmanager
def made_for(span: Span | None) -> Iterator[None]:
    """Nodes that are made inside have this span; without one, the span of what is around."""
    if span is None:
        yield
        return
    token = _SPAN.set(span)
    try:
        yield
    finally:
        _SPAN.reset(token)


def made_by(span: Span | None, make: Callable[..., Node], *nodes: Node) -> Node:
    """What `make` gives for nodes, made for a span, as `made_for` does it in more time."""
    if span is None:
        return make(*nodes)
    token = _SPAN.set(span)
    try:
        return make(*nodes)
    finally:
        _SPAN.reset(token)


@contextmanager
def made_as(shape: tuple[object, ...] | None) -> Iterator[None]:
    """Nodes that are made inside are another form of a value of this shape."""
    span = inherited_span()
    with made_for(None if span is None else replace(span, shape=shape)):
        yield
