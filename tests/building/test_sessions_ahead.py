"""What all programs have in common is compiled while passes run."""

from concurrent.futures import wait
from threading import Event

import pytest

from relay_tune.building import build as module
from relay_tune.building import workers
from relay_tune.building.workers import BuildWorkers, Compiling
from relay_tune.codegen.target import Target, native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module

TEXT = '#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { exp(%x) }'


def test_it_is_begun_before_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    begun = Event()
    compile_, passes = workers.session_object, module.fused_module

    def compiled(target: Target) -> bytes:
        done.append("sessions")
        begun.set()
        return compile_(target)

    def passed(*arguments: object) -> Module:
        assert begun.wait(60)
        done.append("passes")
        return passes(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "session_object", compiled)
    monkeypatch.setattr(module, "fused_module", passed)
    module.build(parse(TEXT))
    assert done == ["sessions", "passes"]


def test_it_is_compiled_once_however_often_it_is_asked_for() -> None:
    target = native_target()
    with BuildWorkers(target, None) as own, Compiling(target, own) as compiling:
        compiling.start_sessions()
        (early,) = compiling.sessions(has_objects=False)
        again, objects = compiling.sessions(has_objects=True)
        wait([objects])
    assert early is again and early.result() != objects.result()
