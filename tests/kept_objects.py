"""Object files that LLVM has made for tests, kept from one run of them to the next.

LLVM takes a quarter of the time of the tests, and most of what it compiles has the same text in the
next run, and some in another process of the same. An object is found by a digest of all that it
depends on: the text, the target, the level, the passes, our code that calls LLVM, and the version
of LLVM. So a test sees what LLVM would answer, and what LLVM rejects it is asked again. The files
lie in pytest's own cache, which `pytest --cache-clear` empties.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from relay_tune.codegen import compiler, llvm_modules
from relay_tune.codegen.compiler import Preparation
from relay_tune.codegen.target import Target
from relay_tune.new_files import new_files

Compile = Callable[..., bytes]
"""Has the arguments of `KeptObjects.__call__`."""

MOST_BYTES = 256 << 20
"""Of all files; those go first that no test has asked for the longest."""

DIGEST_BYTES = hashlib.sha256().digest_size


class KeptObjects:
    """The objects in a folder, and those that `compile_` has made there meanwhile."""

    def __init__(self, folder: Path, compile_: Compile) -> None:
        self._folder = folder
        self._compile = compile_
        self._start = hashlib.sha256(_compiler().encode())

    def __call__(
        self,
        text: str,
        target: Target,
        prepare: Preparation,
        level: int = 1,
        *,
        reduces_strength: bool = True,
    ) -> bytes:
        """The object file of an LLVM module, from the folder if it is there."""
        path = self._path(text, f"{target!r} {prepare!r} {level} {reduces_strength}")
        image = _read(path)
        if image is not None:
            return image
        options = {"reduces_strength": reduces_strength}
        return self._written(path, self._compile(text, target, prepare, level, **options))

    def _path(self, text: str, options: str) -> Path:
        key = self._start.copy()
        for part in (options, text):
            key.update(hashlib.sha256(part.encode()).digest())
        name = key.hexdigest()
        return self._folder / name[:2] / name[2:]

    def _written(self, path: Path, image: bytes) -> bytes:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_files(path) as (file,):
            file.write(hashlib.sha256(image).digest() + image)
        return image


def _read(path: Path) -> bytes | None:
    """What a file holds, which it is noted for; None if there is none, or a damaged one."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    image = content[DIGEST_BYTES:]
    return image if hashlib.sha256(image).digest() == content[:DIGEST_BYTES] else None


def _compiler() -> str:
    """Beside the text and the options: LLVM, its binding, and what we ask of it."""
    ours = (inspect.getsource(module) for module in (compiler, llvm_modules))
    return "\n".join((llvmlite.__version__, repr(llvm.llvm_version_info), *ours))


def drop_old_objects(folder: Path, most_bytes: int = MOST_BYTES) -> None:
    """Remove the files that were not asked for the longest, until the others are few enough.

    Another run of tests may do so at the same time.
    """
    found: list[tuple[Path, os.stat_result]] = []
    for path in folder.glob("*/*"):
        with suppress(FileNotFoundError):
            found.append((path, path.stat()))
    total = sum(status.st_size for _, status in found)
    for path, status in sorted(found, key=lambda each: each[1].st_mtime):
        if total <= most_bytes:
            return
        path.unlink(missing_ok=True)
        total -= status.st_size
