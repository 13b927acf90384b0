"""What passes and native code make of derivatives of random programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.fuzzing.program_values import same_floats
from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.pipeline import default_pipeline
from tests.properties.language_passes import PASSES


def check_passes(module: Module, inputs: tuple[Any, ...], wanted: Any) -> Iterator[str]:
    """What is wrong after the passes of builds, one after the other, and each of the language."""
    current = module
    for number, step in enumerate(default_pipeline().passes):
        before, current = current, step(current)
        if current is not before:
            where = f"pass {number}, {step.name}"
            yield from _difference(where, interpret(current, *inputs), wanted)
    for name, alone in PASSES.items():
        yield from _difference(name, interpret(alone(module), *inputs), wanted)


def check_native(module: Module, inputs: tuple[Any, ...], wanted: Any) -> Iterator[str]:
    """What is wrong in native code, call after call."""
    model = build(module, threads=1)
    for call in range(2):
        yield from _difference(f"native code, call {call}", model(*inputs), wanted)


def _difference(where: str, found: Any, wanted: Any) -> Iterator[str]:
    if not same_floats(found, wanted):
        yield f"{where}: another answer"
