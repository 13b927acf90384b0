"""Reachability: the items that follow some items, directly or not, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def reached(start: Iterable[Item], following: Callable[[Item], Iterable[Item]]) -> Iterator[Item]:
    """The items of `start` and all that follow them, directly or not; the last one found first.

    What follows an item is asked for behind it, so that a caller who has seen enough may stop.
    """
    seen: set[Item] = set()
    pending = list(start)
    while pending:
        item = pending.pop()
        if item not in seen:
            seen.add(item)
            yield item
            pending += following(item)
