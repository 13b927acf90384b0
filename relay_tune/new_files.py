"""Files that are written whole or not at all, also where the process is killed meanwhile.

On Linux a new file has no name until it is complete, so the system frees it with the process that
was writing it. Elsewhere, and on file systems without such files, it has a temporary name, which an
error or an interrupt removes.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""What file systems and systems answer that have no files without a name."""


@contextmanager
def new_files(
    *paths: Path, permissions: int = 0o666, durable: bool = False
) -> Iterator[tuple[BinaryIO, ...]]:
    """Files to write; they take the places of `paths` when the block ends without an error.

    What had these names until then is replaced, not changed: whoever has it open keeps it. Durable
    files are on the disk before they have their names, and so are the names at the end, so that a
    machine that loses its power has the old file or the new one. Raises OSError.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(_new_file(path, permissions)) for path in paths]
        yield tuple(file.stream for file in files)
        for file in files:
            file.stream.flush()
            if durable:
                os.fsync(file.stream.fileno())
        for file in files:
            file.publish()
    if durable:
        for folder in {path.parent for path in paths}:
            _store_names(folder)


class _NewFile:
    """A file beside its later name; `temporary` is its name until then, if it has one."""

    def __init__(self, path: Path, stream: BinaryIO, temporary: Path | None) -> None:
        self._path = path
        self.stream = stream
        self._temporary = temporary

    def publish(self) -> None:
        """Give the file its name."""
        name = self._temporary or self._linked()
        self._temporary = name
        os.replace(name, self._path)
        self._temporary = None

    def discard(self) -> None:
        """Close it, and remove what has no final name."""
        self.stream.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def _linked(self) -> Path:
        """Give a file without a name a temporary one, to be replaced at once."""
        name = _temporary_name(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:  # with folders, linkat(2) follows the link that stands for the open file
            source = f"/proc/self/fd/{self.stream.fileno()}"
            os.link(source, name.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)
        return name


def _store_names(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can be asked for that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _new_file(path: Path, permissions: int) -> Iterator[_NewFile]:
    handle, temporary = _opened(path, permissions)
    file = _NewFile(path, os.fdopen(handle, "w+b"), temporary)
    try:
        yield file
    finally:
        file.discard()


def _opened(path: Path, permissions: int) -> tuple[int, Path | None]:
    """A descriptor for a new file in the folder of `path`, and its name if it needs one."""
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is not None and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(path.parent, nameless | os.O_RDWR, permissions), None
        except OSError as error:
            if error.errno not in _UNSUPPORTED or not path.parent.is_dir():
                raise
    temporary = _temporary_name(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(temporary, flags, permissions), temporary


def _temporary_name(path: Path) -> Path:
    """A name in the same folder that nobody uses, no longer than file systems permit."""
    return path.parent / f".{path.name[:200]}.{secrets.token_hex(4)}"
