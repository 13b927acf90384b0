"""Results of functions that are kept while a model is built or tuned, and dropped afterwards.

What is kept is found by nests, analyses and kernels, which belong to one build: after it nobody can
ask for them again, and they would only fill the memory. Code is large (loops and text of a kernel
take about 100 KB), so that it goes sooner: in tuning once the candidates of a round have theirs. In
a build by itself all goes that was found for a primitive once its code is written (2 MB each), but
for what `lasts`.

    @remembered(1024)
    def analyse(nest): ...

Meanwhile Python looks for garbage in circles more rarely: of what a build makes, little is garbage
before its end, and nearly none in circles.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, lru_cache
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")

RARE_COLLECTIONS = (1_000_000, 50, 50)
"""Thresholds of Python's garbage collector during a build (`gc.set_threshold`).

Small networks end before the first such search, which takes one to two microseconds for each new
object; without any search builds of resnet18 and mobilenet_v2 take 6 MB more.
"""

_functions: list[_lru_cache_wrapper[object]] = []
_code_functions: list[_lru_cache_wrapper[object]] = []
_functions_of_primitives: list[_lru_cache_wrapper[object]] = []
_builds: list[_Build] = []
_usual_collections: list[tuple[int, int, int]] = []
_lock = Lock()


def remembered(
    most: int, *, is_code: bool = False, lasts: bool = False
) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """Have a function keep its latest results, so many at most.

    `is_code`: loops or text. `lasts`: what all primitives of a program have in common.
    """

    def keep(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        wrapper = lru_cache(maxsize=most)(function)
        _functions.append(wrapper)
        if is_code:
            _code_functions.append(wrapper)
        if not lasts:
            _functions_of_primitives.append(wrapper)
        return wrapper

    return keep


class _Build:
    """A build under way; `has_own`: the program that it compiles counts as another one."""

    def __init__(self, has_own: bool) -> None:
        self.has_own = has_own


@contextmanager
def results_for_one_build(*, around_program: bool = False) -> Iterator[None]:
    """Drop the results of all such functions at the end; also a decorator.

    Where one is inside of another, or in another thread, it is at the end of the last. With
    `around_program` the one inside, of a program, is the same build, not one of several in turn.
    """
    own = _Build(around_program)
    with _lock:
        if not _builds:
            _collect_rarely()
        _builds.append(own)
    try:
        yield
    finally:
        with _lock:
            _builds.remove(own)
            if not _builds:
                _drop(_functions)
                _collect_as_usual()


def is_building() -> bool:
    """Whether such results are dropped by and by: something is being built or tuned."""
    return bool(_builds)


@contextmanager
def code_for_one_round() -> Iterator[None]:
    """Drop the results that are code at the end."""
    try:
        yield
    finally:
        _drop(_code_functions)


def primitive_is_written() -> None:
    """Drop what was found for a primitive, but where builds in turn may have it in common."""
    with _lock:
        if sum(not each.has_own for each in _builds) == 1:
            _drop(_functions_of_primitives)


def _collect_rarely() -> None:
    """Unless the program collects more rarely already, or never."""
    usual = gc.get_threshold()
    if 0 < usual[0] < RARE_COLLECTIONS[0]:
        _usual_collections.append(usual)
        gc.set_threshold(*RARE_COLLECTIONS)


def _collect_as_usual() -> None:
    """As before, unless the program has chosen something else in the meantime."""
    if _usual_collections:
        usual = _usual_collections.pop()
        if gc.get_threshold() == RARE_COLLECTIONS:
            gc.set_threshold(*usual)


def _drop(functions: Iterable[_lru_cache_wrapper[object]]) -> None:
    for function in functions:
        function.cache_clear()
