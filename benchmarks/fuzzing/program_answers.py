"""Random programs in native code, as they are and after each pass of the language."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

from relay_tune.building import primitives
from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.structural import structural_equal, structural_hash
from relay_tune.runtime.interpreter.interpret import interpret
from tests.properties.language_passes import PASSES
from tests.properties.programs.compare import assert_same_value
from tests.properties.programs.random_program import Program, random_program

primitives.FEWEST_FOR_WORKERS = sys.maxsize
"""Each program runs in a process of its own, which need not start others to compile it."""

CALLS = 2
"""A second call finds memory as the first one left it."""


def check_answers(seed: int) -> Iterator[str]:
    """What native code gives that the interpreter does not, call after call."""
    module, inputs = random_program(seed)
    seen: dict[str, list[Module]] = {}
    passes: dict[str, Callable[[Module], Module]] = {"no pass": _same, **PASSES}
    for name, step in passes.items():
        yield from _failure(name, partial(_check, step, (module, inputs), seen))


def _same(module: Module) -> Module:
    return module


def _failure(name: str, check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except Exception as error:  # noqa: BLE001  # any failure is what is looked for
        yield f"{name}: {type(error).__name__}: {error}"


def _check(
    step: Callable[[Module], Module], program: Program, seen: dict[str, list[Module]]
) -> None:
    """Compares one version of a program, unless an equal one was compared before."""
    module, inputs = program
    expected = interpret(module, *inputs)
    changed = step(module)
    assert_same_value(interpret(changed, *inputs), expected, "interpreter")
    known = seen.setdefault(structural_hash(changed), [])
    if any(structural_equal(changed, other) for other in known):
        return
    known.append(changed)
    model = build(changed, threads=1)
    for call in range(CALLS):
        assert_same_value(model(*inputs), expected, f"call {call}")
