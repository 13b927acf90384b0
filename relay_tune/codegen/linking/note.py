"""The library's ELF note: size and checksum of the file, and a description.

A loader can find the note and check the file before the system maps it, so that no code of a
damaged library runs. The checksum is CRC-32 of the whole file with zeros in its own place: it finds
damage, not malice.
"""

from __future__ import annotations

from struct import Struct

from relay_tune.codegen.linking.elf import NOTE, aligned
from relay_tune.quick_dataclass import dataclass

OWNER = b"relay_tune\0"
KIND = 1
ALIGNMENT = 4
_FIELDS = Struct("<QIQ")

_FIELDS_OFFSET = NOTE.size + aligned(len(OWNER), ALIGNMENT)
CHECKSUM_OFFSET = _FIELDS_OFFSET + 8
"""Where the checksum stands in the note."""


@dataclass(frozen=True, slots=True)
class Note:
    """The contents of the note.

    Attributes:
        file_bytes: the size of the whole file.
        checksum: of the whole file, zero while it is computed.
        weights_offset: where the weights begin, which are the rest of the file.
        description: what a loader has to know, UTF-8.
    """

    file_bytes: int
    checksum: int
    weights_offset: int
    description: bytes


def note_size(description: bytes) -> int:
    """The bytes of the note."""
    return _FIELDS_OFFSET + aligned(_FIELDS.size + len(description), ALIGNMENT)


def write_note(note: Note) -> bytes:
    """The note as it stands in the file."""
    fields = _FIELDS.pack(note.file_bytes, note.checksum, note.weights_offset) + note.description
    head = NOTE.pack(len(OWNER), len(fields), KIND) + OWNER.ljust(aligned(len(OWNER), 4), b"\0")
    return (head + fields).ljust(note_size(note.description), b"\0")


def read_note(data: bytes) -> Note | None:
    """The note at the start of some bytes; None if it is another."""
    if len(data) < _FIELDS_OFFSET + _FIELDS.size:
        return None
    owner_bytes, size, kind = NOTE.unpack_from(data)
    if kind != KIND or data[NOTE.size : NOTE.size + owner_bytes] != OWNER:
        return None
    end = _FIELDS_OFFSET + size
    if size < _FIELDS.size or end > len(data):
        return None
    file_bytes, checksum, weights = _FIELDS.unpack_from(data, _FIELDS_OFFSET)
    return Note(file_bytes, checksum, weights, data[_FIELDS_OFFSET + _FIELDS.size : end])
