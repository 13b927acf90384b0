"""The file of a library: whether it is as export wrote it, looked at before any code of it runs.

The loader of the system does not look: the missing end of a truncated library ends the process when
it is touched, and other bytes run as whatever instructions they are. The checksum of the whole file
is compared with the one in the library's note (`relay_tune.codegen.linking.note`).
"""

from __future__ import annotations

import os
import zlib
from io import BufferedReader
from pathlib import Path

from relay_tune.codegen.linking.elf import (
    FILE_HEADER,
    PROGRAM_HEADER,
    PT_LOAD,
    PT_NOTE,
    SHARED_OBJECT,
)
from relay_tune.codegen.linking.note import CHECKSUM_OFFSET, Note, read_note
from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass

PIECE_BYTES = 1 << 18

_MOST_HEADERS = 64


@dataclass(frozen=True, eq=False, slots=True)
class LibraryFile:
    """A library that is whole and unchanged.

    Attributes:
        head: the file without the weights, which are its rest.
        size: of the whole file, in bytes.
        weights_address: where the weights belong in memory, from the start of the library.
        description: what the library says of itself.
    """

    head: bytes
    size: int
    weights_address: int
    description: bytes


def checked_library(path: Path, file: BufferedReader) -> LibraryFile:
    """Read a library that is open; InputError unless it is one of ours, whole and unchanged."""
    size = os.fstat(file.fileno()).st_size
    start, note = _note(path, file)
    if note.file_bytes > size:
        raise _broken(path, f"{note.file_bytes - size} bytes are missing at its end")
    if note.file_bytes < size:
        raise _broken(path, f"it has {size - note.file_bytes} bytes more than were written")
    head = _read_at(file, 0, min(note.weights_offset, size))
    excluded = start + CHECKSUM_OFFSET
    checksum = zlib.crc32(head[:excluded] + bytes(4) + head[excluded + 4 :])
    piece = memoryview(bytearray(PIECE_BYTES))
    while count := file.readinto(piece):
        checksum = zlib.crc32(piece[:count], checksum)
    if checksum != note.checksum:
        raise _broken(path, "its contents were changed after it was written")
    address = next(
        (h[3] for h in _program_headers(path, file) if h[0] == PT_LOAD and h[2] == len(head)), 0
    )
    return LibraryFile(head, size, address, note.description)


def _note(path: Path, file: BufferedReader) -> tuple[int, Note]:
    """The note and where it stands."""
    for header in _program_headers(path, file):
        start, length = header[2], header[5]
        if header[0] == PT_NOTE:
            note = read_note(_read_at(file, start, length))
            if note is not None:
                return start, note
    raise InputError(
        f"{path} is a library, but no model that export wrote: it has no note of relay_tune.",
        remedy="Give a library that `model.export` or `tune build` of this version wrote.",
    )


def _program_headers(path: Path, file: BufferedReader) -> list[tuple[int, ...]]:
    head = _read_at(file, 0, FILE_HEADER.size)
    if len(head) < FILE_HEADER.size or head[:6] != b"\x7fELF\x02\x01":
        raise _broken(path, "it is no 64-bit ELF file")
    fields = FILE_HEADER.unpack(head)
    kind, offset, entry_bytes, count = fields[1], fields[5], fields[9], fields[10]
    if kind != SHARED_OBJECT or entry_bytes != PROGRAM_HEADER.size or count > _MOST_HEADERS:
        raise _broken(path, "it is no shared library")
    table = _read_at(file, offset, entry_bytes * count)
    if len(table) < entry_bytes * count:
        raise _broken(path, "its end is missing")
    return list(PROGRAM_HEADER.iter_unpack(table))


def _read_at(file: BufferedReader, offset: int, size: int) -> bytes:
    """Bytes of a file; fewer where it ends."""
    end = os.fstat(file.fileno()).st_size
    if offset > end:
        return b""
    file.seek(offset)
    return file.read(min(size, end - offset))


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is no library that can be loaded: {why}.",
        remedy="Give the file that export wrote.",
    )
