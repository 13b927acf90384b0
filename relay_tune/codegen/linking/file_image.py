"""The file of a shared object: headers, sections at their offsets, the table of sections."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.linking.elf import (
    DYNAMIC_SECTION,
    FILE_HEADER,
    IDENTIFICATION,
    NOBITS,
    NOTE_SECTION,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_GNU_RELRO,
    PT_GNU_STACK,
    PT_LOAD,
    PT_NOTE,
    READ,
    SECTION_HEADER,
    SHARED_OBJECT,
    STRTAB,
    WRITE,
    Strings,
    aligned,
)
from relay_tune.codegen.linking.layout import OutputSection, Segment, headers_size, place
from relay_tune.machine.linking import Linking

OTHER_HEADERS = 4
"""Program headers beside those of memory: dynamic tables, note, constants after loading, stack."""


class FileImage:
    """A shared object whose sections have sizes, and now addresses.

    `weights` come last in memory and in the file, and are written by others.
    """

    def __init__(
        self, segments: Sequence[Segment], weights: OutputSection, linking: Linking
    ) -> None:
        self._segments = segments
        self._weights = weights
        self._linking = linking
        self._page = linking.page_bytes
        self._headers = len(segments) + bool(weights.size) + OTHER_HEADERS
        self._end = place(segments, headers_size(self._headers), self._page)
        weights.address = aligned(max(segment.end for segment in segments), self._page)
        loaded = [section for segment in segments for section in segment.sections]
        self.sections = [*loaded, *([weights] if weights.size else [])]
        self.numbers = {section: number for number, section in enumerate(self.sections, start=1)}

    def finish(self, tables: Sequence[OutputSection]) -> None:
        """Add sections that are not in memory, and say where the weights are in the file."""
        names = Strings()
        for section in (*self.sections, *tables):
            names.add(section.name)
        known = OutputSection(".shstrtab", STRTAB, 0, alignment=1)
        known.size = names.add(known.name) + len(known.name) + 1
        known.data[:] = names.data
        for section in (*tables, known):
            section.offset = aligned(self._end, section.alignment)
            self._end = section.offset + section.size
            self.sections.append(section)
        self._names = names
        self._table = aligned(self._end, 8)
        self._end = self._table + SECTION_HEADER.size * (len(self.sections) + 1)
        if self._weights.size:
            self._end = self._weights.offset = aligned(self._end, self._page)

    @property
    def size(self) -> int:
        """The bytes of the whole file."""
        return self._end + self._weights.size

    def head(self) -> bytes:
        """The file without the weights, which follow."""
        file = bytearray(self._end)
        headers = self._file_header() + b"".join(self._program_headers())
        file[: len(headers)] = headers
        for section in self.sections:
            if section.kind != NOBITS and section is not self._weights:
                file[section.offset : section.offset + section.size] = section.data
        table = b"".join(self._section_headers())
        file[self._table : self._table + len(table)] = table
        return bytes(file)

    def _file_header(self) -> bytes:
        return FILE_HEADER.pack(
            IDENTIFICATION,
            SHARED_OBJECT,
            self._linking.machine,
            1,
            0,
            FILE_HEADER.size,
            self._table,
            0,
            FILE_HEADER.size,
            PROGRAM_HEADER.size,
            self._headers,
            SECTION_HEADER.size,
            len(self.sections) + 1,
            len(self.sections),
        )

    def _program_headers(self) -> list[bytes]:
        rows = []
        for number, segment in enumerate(self._segments):
            start, address = (segment.offset, segment.address) if number else (0, 0)
            size, room = segment.file_end - start, segment.end - address
            if segment.is_constant:
                room = aligned(segment.end, self._page) - address
            rows.append(self._row(PT_LOAD, segment.permissions, start, address, size, room))
        if self._weights.size:
            rows.append(self._of_section(PT_LOAD, READ, self._weights, self._page))
        for section in self.sections:
            if section.kind == DYNAMIC_SECTION:
                rows.append(self._of_section(PT_DYNAMIC, READ | WRITE, section, 8))
            if section.kind == NOTE_SECTION:
                rows.append(self._of_section(PT_NOTE, READ, section, section.alignment))
        for segment in self._segments:
            if segment.is_constant:
                start, address = segment.offset, segment.address
                room = aligned(segment.end, self._page) - address
                size = segment.file_end - start
                rows.append(self._row(PT_GNU_RELRO, READ, start, address, size, room, 1))
        rows.append(self._row(PT_GNU_STACK, READ | WRITE, 0, 0, 0, 0, 16))
        return rows

    def _of_section(
        self, kind: int, permissions: int, section: OutputSection, alignment: int
    ) -> bytes:
        start, address, size = section.offset, section.address, section.size
        return self._row(kind, permissions, start, address, size, size, alignment)

    def _row(
        self,
        kind: int,
        permissions: int,
        start: int,
        address: int,
        size: int,
        room: int,
        alignment: int = 0,
    ) -> bytes:
        return PROGRAM_HEADER.pack(
            kind, permissions, start, address, address, size, room, alignment or self._page
        )

    def _section_headers(self) -> list[bytes]:
        numbers = {section.name: n for n, section in enumerate(self.sections, start=1)}
        rows = [bytes(SECTION_HEADER.size)]
        for section in self.sections:
            rows.append(
                SECTION_HEADER.pack(
                    self._names.add(section.name),
                    section.kind,
                    section.flags,
                    section.address,
                    section.offset,
                    section.size,
                    numbers.get(section.link, 0),
                    section.info,
                    section.alignment,
                    section.entry_bytes,
                )
            )
        return rows
