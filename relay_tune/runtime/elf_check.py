"""Whether a shared library is whole, looked at before the system maps it.

The loader of the system does not look: touching the missing end of a truncated library ends the
process.
"""

from __future__ import annotations

import struct
from pathlib import Path

from relay_tune.errors import InputError

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
SHARED_OBJECT = 3


def check_elf(path: Path) -> None:
    """Raise InputError unless `path` is a 64-bit shared library all of which is there."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            size = path.stat().st_size
            if len(head) < HEADER.size or head[:6] != b"\x7fELF\x02\x01":
                raise _broken(path, "it is no 64-bit ELF file")
            fields = HEADER.unpack(head)
            kind, programs, sections = fields[1], fields[5], fields[6]
            program_size, program_count, section_size, section_count = fields[9:13]
            if kind != SHARED_OBJECT:
                raise _broken(path, "it is no shared library")
            file.seek(programs)
            table = file.read(program_size * program_count)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check the path, and that the file may be read.",
        ) from error
    ends = [sections + section_size * section_count, programs + program_size * program_count]
    if program_size == PROGRAM_HEADER.size and len(table) == program_size * program_count:
        entries = PROGRAM_HEADER.iter_unpack(table)
        ends += [offset + length for _, _, offset, _, _, length, _, _ in entries]
    if max(ends) > size:
        raise _broken(path, f"{max(ends) - size} bytes are missing at its end")


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is no library that can be loaded: {why}.",
        remedy="Give the file that export wrote.",
    )
