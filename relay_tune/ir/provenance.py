"""Where new nodes come from: what is made in place of a node has its span.

    with made_for(call.span):
        new = add(multiply(x, scale), shift)     both calls have the span of `call`

So kernels and errors can name the user's nodes however often passes rewrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from relay_tune.errors import Span

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
