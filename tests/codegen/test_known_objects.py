"""Objects that were compiled before are found by their text."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building import programs, workers
from relay_tune.codegen.known_objects import KnownObjects
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.errors import BuildError


def compiled(objects: KnownObjects, *texts: str) -> list[str]:
    """The texts that are compiled when these are asked for."""
    made: list[str] = []

    def compile_(text: str) -> bytes:
        made.append(text)
        return text.encode()

    for text in texts:
        assert objects.object_of(text, native_target(), compile_) == text.encode()
    return made


def test_a_text_is_compiled_once() -> None:
    assert compiled(KnownObjects(100), "a", "b", "a", "b") == ["a", "b"]


def test_what_was_asked_for_last_is_kept() -> None:
    objects = KnownObjects(2)
    assert compiled(objects, "a", "b", "a", "c", "a", "b") == ["a", "b", "c", "b"]
    assert compiled(objects, "long", "a", "long") == ["long", "a", "long"]


def test_objects_of_other_targets_are_others() -> None:
    objects = KnownObjects(100)
    for name in ("x86_64-linux-gnu:haswell", "aarch64-linux-gnu"):
        target = parse_target(name)
        assert objects.object_of("a", target, lambda text, n=name: n.encode()) == name.encode()


def test_what_was_rejected_is_compiled_again() -> None:
    objects = KnownObjects(100)

    def reject(text: str) -> bytes:
        raise BuildError("rejected")

    with pytest.raises(BuildError):
        objects.object_of("a", native_target(), reject)
    assert compiled(objects, "a") == ["a"]


def test_a_second_build_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rt.parse("def @main(%x: Tensor[(3, 5), float32]) { nn.relu(nn.softmax(%x)) }")
    first = rt.build(module, threads=1)

    def never(text: str, *_: object) -> bytes:
        raise AssertionError(text)

    for name in ("compile_calls", "compile_inlined", "compile_optimized"):
        monkeypatch.setattr(programs, name, never)
    monkeypatch.setattr(workers, "compile_text", never)
    x = np.random.default_rng(0).standard_normal((3, 5), np.float32)
    np.testing.assert_array_equal(rt.build(module, threads=1)(x), first(x))
