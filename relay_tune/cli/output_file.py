"""Files that a verb writes: whole or not at all, and refused early where that cannot work."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from relay_tune.errors import InputError


def require_writable(path: Path) -> None:
    """Raise InputError, before any work is done, where a file cannot be written later."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder.")
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path} cannot be written: the folder {folder} is read-only.")


def write_text(path: Path, text: str) -> None:
    """Write a text file; an error leaves what was there before. Raises InputError."""
    require_writable(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
