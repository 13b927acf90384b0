"""Kept objects are what LLVM would make: they are found by all that an object depends on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from relay_tune.codegen import compiler
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.errors import BuildError
from tests import kept_objects
from tests.kept_objects import KeptObjects, drop_old_objects

TEXT = """
define internal i64 @part(i64 %x) {
  %y = mul i64 %x, 3
  ret i64 %y
}
define i64 @whole(i64 %x) {
  %y = call i64 @part(i64 %x)
  ret i64 %y
}
"""
TARGET = native_target()


class Compiled:
    """A compiler that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Target, object, int, bool]] = []

    def __call__(
        self,
        text: str,
        target: Target,
        prepare: compiler.Preparation,
        level: int,
        *,
        reduces_strength: bool,
    ) -> bytes:
        self.asked.append((text, target, prepare, level, reduces_strength))
        return b"object %d" % len(self.asked)


def ways() -> list[Callable[[str], object]]:
    """Ways to compile a text that differ in one thing each."""
    other = parse_target("aarch64-linux-gnu")
    return [
        lambda text: compiler.compile_text(text, TARGET),
        lambda text: compiler.compile_text(text + " ", TARGET),
        lambda text: compiler.compile_text(text, other),
        lambda text: compiler.compile_calls(text, TARGET),
        lambda text: compiler.compile_inlined(text, TARGET, ()),
        lambda text: compiler.compile_inlined(text, TARGET, ("part",)),
        lambda text: compiler.compile_optimized(text, TARGET),
    ]


def test_each_way_to_compile_a_text_has_its_own_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in range(2):  # the second as another process would, in the same folder
        compiled = Compiled()
        monkeypatch.setattr(compiler, "_compiled", KeptObjects(tmp_path, compiled))
        found = [way(TEXT) for way in ways()]
        assert found == [b"object %d" % number for number in range(1, len(found) + 1)]
        assert len(compiled.asked) == (0 if run else len(found))


@pytest.mark.parametrize("changed", ["llvm", "source"])
def test_another_compiler_makes_its_own_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    compiled = Compiled()
    assert KeptObjects(tmp_path, compiled)("text", TARGET, print, 1) == b"object 1"
    if changed == "llvm":
        monkeypatch.setattr(kept_objects.llvm, "llvm_version_info", (99, 0, 0))
    else:
        monkeypatch.setattr(kept_objects.inspect, "getsource", lambda _: "other")
    assert KeptObjects(tmp_path, compiled)("text", TARGET, print, 1) == b"object 2"


def test_code_with_and_without_reduction_of_strength_is_told_apart(tmp_path: Path) -> None:
    compiled = Compiled()
    objects = KeptObjects(tmp_path, compiled)
    for reduces_strength in (True, False, True):
        objects("text", TARGET, print, 1, reduces_strength=reduces_strength)
    assert [each[-1] for each in compiled.asked] == [True, False]


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    compiled = Compiled()
    objects = KeptObjects(tmp_path, compiled)
    objects("text", TARGET, print, 1)
    (path,) = tmp_path.glob("*/*")
    for content in (path.read_bytes()[:-1], b""):
        path.write_bytes(content)
        objects("text", TARGET, print, 1)
    objects("text", TARGET, print, 1)
    assert len(compiled.asked) == 3


def test_what_llvm_rejects_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_compiled", KeptObjects(tmp_path, compiler._compiled))
    for _ in range(2):
        with pytest.raises(BuildError):
            compiler.compile_text("this is no module", TARGET)
    assert not list(tmp_path.glob("*/*"))


def test_those_go_first_that_nobody_asked_for_the_longest(tmp_path: Path) -> None:
    objects = KeptObjects(tmp_path, Compiled())
    for number in range(4):
        objects(f"text {number}", TARGET, print, 1)
    paths = list(tmp_path.glob("*/*"))
    for path in paths:
        os.utime(path, (1, 1))
    objects("text 2", TARGET, print, 1)
    (asked,) = (path for path in paths if path.stat().st_mtime > 1)
    drop_old_objects(tmp_path, most_bytes=asked.stat().st_size)
    assert list(tmp_path.glob("*/*")) == [asked]


def test_files_that_another_run_removes_meanwhile_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = KeptObjects(tmp_path, Compiled())
    for number in range(3):
        objects(f"text {number}", TARGET, print, 1)
    paths = list(tmp_path.glob("*/*"))
    monkeypatch.setattr(Path, "glob", lambda *_: iter(paths))
    paths[0].unlink()
    drop_old_objects(tmp_path, most_bytes=paths[1].stat().st_size)
    assert sum(path.exists() for path in paths) == 1
