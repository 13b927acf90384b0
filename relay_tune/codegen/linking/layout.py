"""Which section of a shared object lies where, in the file and in memory.

    file header, program headers, note, dynamic tables, .rodata     read
    .text, .plt                                                     read, execute
    .data.rel.ro, .dynamic, .got                                    read, once the loader is done
    .data, .bss                                                     read, write
    .symtab, .strtab, .shstrtab, section headers                    not in memory
    weights                                                         read

Each group begins a page in memory, at an address whose remainder is that of its offset, so that the
file needs no padding between them. Weights are the last: what refers to each other is near each
other however large they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from relay_tune.codegen.linking.elf import (
    EXECUTE,
    FILE_HEADER,
    NOBITS,
    PROGBITS,
    PROGRAM_HEADER,
    READ,
    SHF_ALLOC,
    SHF_EXECUTE,
    SHF_WRITE,
    WRITE,
    aligned,
)
from relay_tune.codegen.linking.object_file import ObjectFile, Section
from relay_tune.quick_dataclass import dataclass


@dataclass(eq=False, slots=True)
class OutputSection:
    """A section of the shared object.

    Attributes:
        name: in the table of sections.
        kind: PROGBITS and so on.
        flags: SHF_ALLOC, SHF_WRITE, SHF_EXECUTE.
        alignment: of its address, in bytes.
        entry_bytes: of the entries of a table, else 0.
        size: in bytes.
        data: its bytes, filled in when addresses are known; empty for those that are elsewhere.
        parts: the sections of objects that it consists of, and their offsets.
        link: the name of the section of which it speaks.
        info: a number that a kind gives a meaning.
        address: in memory, from the start of the library.
        offset: in the file.
    """

    name: str
    kind: int = PROGBITS
    flags: int = SHF_ALLOC
    alignment: int = 8
    entry_bytes: int = 0
    size: int = 0
    data: bytearray = field(default_factory=bytearray)
    parts: dict[Section, int] = field(default_factory=dict)
    link: str = ""
    info: int = 0
    address: int = 0
    offset: int = 0

    def append(self, section: Section) -> None:
        """Put a section of an object behind the others."""
        start = aligned(self.size, section.alignment)
        self.parts[section] = start
        self.size = start + section.size
        self.alignment = max(self.alignment, section.alignment)
        if section.data is not None:
            self.data += bytes(start - len(self.data)) + section.data


@dataclass(frozen=True, slots=True)
class Segment:
    """Sections that lie together in memory, and what the memory permits."""

    permissions: int
    sections: tuple[OutputSection, ...]
    is_constant: bool = False

    @property
    def address(self) -> int:
        """Where it begins in memory."""
        return self.sections[0].address

    @property
    def end(self) -> int:
        """Where it ends in memory."""
        return max(section.address + section.size for section in self.sections)

    @property
    def offset(self) -> int:
        """Where it begins in the file."""
        return self.sections[0].offset

    @property
    def file_end(self) -> int:
        """Where it ends in the file."""
        return max(s.offset + (0 if s.kind == NOBITS else s.size) for s in self.sections)


def merged_sections(objects: Sequence[ObjectFile]) -> dict[str, OutputSection]:
    """The sections of objects, joined by what they need of memory; by name, empty ones too."""
    merged = {
        ".rodata": OutputSection(".rodata"),
        ".text": OutputSection(".text", flags=SHF_ALLOC | SHF_EXECUTE, alignment=16),
        ".data.rel.ro": OutputSection(".data.rel.ro", flags=SHF_ALLOC | SHF_WRITE),
        ".data": OutputSection(".data", flags=SHF_ALLOC | SHF_WRITE),
        ".bss": OutputSection(".bss", kind=NOBITS, flags=SHF_ALLOC | SHF_WRITE),
    }
    for image in objects:
        for section in image.sections:
            merged[_merged_name(section)].append(section)
    return merged


def _merged_name(section: Section) -> str:
    if section.flags & SHF_EXECUTE:
        return ".text"
    if not section.flags & SHF_WRITE:
        return ".rodata"
    if section.data is None:
        return ".bss"
    return ".data.rel.ro" if section.name.startswith(".data.rel.ro") else ".data"


def segments_of(
    tables: Sequence[OutputSection],
    merged: dict[str, OutputSection],
    stubs: OutputSection,
    linkage: Sequence[OutputSection],
) -> list[Segment]:
    """The groups that are in memory, weights apart; those without a section are left out."""
    groups = [
        (READ, (*tables, merged[".rodata"]), False),
        (READ | EXECUTE, (merged[".text"], stubs), False),
        (READ | WRITE, (merged[".data.rel.ro"], *linkage), True),
        (READ | WRITE, (merged[".data"], merged[".bss"]), False),
    ]
    found = []
    for permissions, sections, is_constant in groups:
        present = tuple(section for section in sections if section.size)
        if present:
            found.append(Segment(permissions, present, is_constant))
    return found


def place(segments: Sequence[Segment], headers: int, page: int) -> int:
    """Give all sections offsets and addresses; the end of the last in the file.

    The first segment begins with the file's own headers, of which there are so many bytes.
    """
    offset = address = headers
    for number, segment in enumerate(segments):
        if number:
            start = segment.sections[0].alignment
            offset = aligned(offset, start)
            address = aligned(address, page) + offset % page
        for section in segment.sections:
            padding = aligned(address, section.alignment) - address
            address += padding
            section.address = address
            if section.kind == NOBITS:
                section.offset = offset
                address += section.size
                continue
            offset += padding
            section.offset = offset
            offset, address = offset + section.size, address + section.size
    return offset


def headers_size(program_headers: int) -> int:
    """The bytes of the file header and so many program headers."""
    return FILE_HEADER.size + PROGRAM_HEADER.size * program_headers
