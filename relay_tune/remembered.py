"""Results of functions that are kept while a model is built, and dropped afterwards.

What is kept is found by nests, analyses and kernels, which belong to one build: after it nobody can
ask for them again, and they would only fill the memory.

    @remembered(1024)
    def analyse(nest): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, lru_cache
from typing import TypeVar

Result = TypeVar("Result")

_functions: list[_lru_cache_wrapper[object]] = []


def remembered(
    most: int,
) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """Have a function keep its latest results, so many at most."""

    def keep(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        wrapper = lru_cache(maxsize=most)(function)
        _functions.append(wrapper)
        return wrapper

    return keep


@contextmanager
def results_for_one_build() -> Iterator[None]:
    """Drop the results of all such functions at the end; also a decorator.

    Builds that other threads do at the same time compute some results again.
    """
    try:
        yield
    finally:
        for function in _functions:
            function.cache_clear()
