"""Files that a verb writes: whole or not at all, and refused early where that cannot work."""

from __future__ import annotations

import os
from pathlib import Path

from relay_tune.arguments import OTHER_FOLDER, unwritable
from relay_tune.codegen.export import header_of
from relay_tune.errors import InputError
from relay_tune.new_files import new_files

OTHER_NAME = "Give the output another name."


def require_writable(path: Path, *needed: str | None) -> None:
    """Raise InputError, before any work is done, where a file cannot be written later.

    `needed` are the files that the command reads or adds to: none of them is overwritten.
    """
    folder = path.parent
    if str(path) == "-":
        raise _refused(path, "files are not written to standard output", "Name a file.")
    if path.is_dir():
        raise _refused(path, "it is a folder", OTHER_NAME)
    if path.exists() and not path.is_file():
        raise _refused(path, "it is no regular file", OTHER_NAME)
    if not folder.is_dir():
        raise _refused(path, f"there is no folder {folder}", OTHER_FOLDER)
    if not os.access(folder, os.W_OK):
        raise _refused(path, f"the folder {folder} is read-only", OTHER_FOLDER)
    if any(_is_same(path, Path(name)) for name in needed if name is not None):
        raise _refused(path, "this command also needs it as it is", OTHER_NAME)


def require_library(path: Path, *needed: str | None) -> None:
    """`require_writable` of a library and its header; InputError also where it has no such name."""
    for file in (path, header_of(path)):
        require_writable(file, *needed)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names stand for one file, there or not."""
    return path.resolve() == other.resolve()


def _refused(path: Path, reason: str, remedy: str) -> InputError:
    return InputError(f"{path} cannot be written: {reason}.", remedy=remedy)


def write_text(path: Path, text: str) -> None:
    """Write a text file; an error leaves what was there before. Raises InputError.

    Half a character, which names in files of strangers may have, is written as its escape.
    """
    require_writable(path)
    try:
        with new_files(path) as (file,):
            file.write(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise unwritable(path, error) from error
