"""Recursion without the Python stack: functions written as generators, run by a loop.

A recursive function that would call itself instead yields the call, and is sent its result:

    def depth(tree):                      def depth(tree):
        return 1 + depth(tree.left)           return 1 + (yield depth(tree.left))
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")

Recursive = Generator["Recursive[Result]", Result, Result]
"""A recursive computation: yields computations of the same kind, is sent and returns results."""


def run(computation: Generator[Recursive[Result], Result, Outcome]) -> Outcome:
    """The result of a computation, at any depth of recursion."""
    stack: list[Generator[Any, Any, Any]] = [computation]
    result: Any = None
    while stack:
        try:
            called = stack[-1].send(result)
        except StopIteration as stop:
            stack.pop()
            result = stop.value
        else:
            stack.append(called)
            result = None
    outcome: Outcome = result
    return outcome
