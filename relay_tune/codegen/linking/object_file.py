"""A relocatable object file taken apart: sections, symbols, relocations.

Only what LLVM writes for this project's code is understood; anything else is a BuildError, so that
no part of an object can be lost in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from relay_tune.codegen.linking.elf import (
    ABSOLUTE,
    COMMON,
    FILE_HEADER,
    FUNCTION,
    LOCAL,
    NOBITS,
    PROGBITS,
    RELA,
    RELOCATABLE,
    RELOCATION,
    SECTION_HEADER,
    SHF_ALLOC,
    SHF_EXECUTE,
    SHF_TLS,
    SYMBOL,
    SYMTAB,
    UNDEFINED,
    X86_64_UNWIND,
)
from relay_tune.errors import BuildError
from relay_tune.quick_dataclass import dataclass

_KNOWN_NAMES = (".text", ".rodata", ".data", ".bss", ".eh_frame")
"""Beginnings of the names of sections that need nothing but an address in memory."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """A field of a section that depends on an address.

    Attributes:
        offset: of the field, in its section.
        kind: the number of the relocation, which the processor's supplement explains.
        symbol: the index of the symbol in the object's table.
        addend: what is added to the symbol's address.
    """

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True, eq=False, slots=True)
class Section:
    """A section that is part of the program in memory.

    Attributes:
        name: such as `.text`.
        flags: what the memory must permit (SHF_WRITE, SHF_EXECUTE).
        alignment: of its address, in bytes.
        size: in bytes.
        data: its bytes; None where it starts as zeros and takes no room in the file.
        relocations: fields to fill in once the addresses are known.
    """

    name: str
    flags: int
    alignment: int
    size: int
    data: bytes | None
    relocations: list[Relocation] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class Symbol:
    """A symbol of an object.

    Attributes:
        name: empty for the symbol of a section.
        section: where it is defined; None where it is not.
        value: its offset in the section.
        size: of what it names, in bytes.
        kind: OBJECT, FUNCTION and so on.
        is_local: whether other objects cannot mean it.
    """

    name: str
    section: Section | None
    value: int
    size: int
    kind: int
    is_local: bool


@dataclass(frozen=True, eq=False, slots=True)
class ObjectFile:
    """An object file.

    Attributes:
        sections: those that are part of the program.
        symbols: all symbols, in the order that relocations number.
    """

    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]


def parse_object(image: bytes, machine: int) -> ObjectFile:
    """Take an object file for a processor (its ELF number) apart; BuildError if it is none."""
    fields = FILE_HEADER.unpack_from(image)
    if fields[0][:6] != b"\x7fELF\x02\x01" or fields[1:3] != (RELOCATABLE, machine):
        raise unsupported("an object is no ELF object for the target's processor")
    start, count, names_index = fields[6], fields[12], fields[13]
    table = image[start : start + count * SECTION_HEADER.size]
    headers = list(SECTION_HEADER.iter_unpack(table))
    names = _contents(image, headers[names_index])
    sections = {
        index: section
        for index, header in enumerate(headers)
        if (section := _section(image, header, names)) is not None
    }
    symbols = tuple(_symbols(image, headers, sections))
    for header in headers:
        target = sections.get(header[7])
        if header[1] == RELA and target is not None:
            target.relocations.extend(_relocations(image, header))
    return ObjectFile(tuple(sections.values()), symbols)


def code_object(functions: Mapping[str, bytes]) -> ObjectFile:
    """The object of functions that are given as machine code and refer to nothing else."""
    sections, symbols = [], []
    for name, code in functions.items():
        section = Section(".text", SHF_ALLOC | SHF_EXECUTE, 16, len(code), code)
        sections.append(section)
        symbols.append(Symbol(name, section, 0, len(code), FUNCTION, False))
    return ObjectFile(tuple(sections), tuple(symbols))


def unsupported(what: str) -> BuildError:
    """The error for generated code that the linker does not understand."""
    return BuildError(
        f"The library cannot be linked: {what}; this is a defect of the compiler.",
        remedy="Please report it with the model; another --target may avoid it.",
    )


def _contents(image: bytes, header: tuple[int, ...]) -> bytes:
    offset, size = header[4], header[5]
    return image[offset : offset + size]


def _text(names: bytes, offset: int) -> str:
    return names[offset : names.index(0, offset)].decode()


def _section(image: bytes, header: tuple[int, ...], names: bytes) -> Section | None:
    """A section of the program; None for tables, notes and debugging information."""
    name, kind, flags, size = _text(names, header[0]), header[1], header[2], header[5]
    if not flags & SHF_ALLOC:
        return None
    is_known = kind in (PROGBITS, NOBITS, X86_64_UNWIND) and name.startswith(_KNOWN_NAMES)
    if flags & SHF_TLS or not is_known:
        raise unsupported(f"section {name} is of type {kind:#x}, flags {flags:#x}")
    data = None if kind == NOBITS else _contents(image, header)
    return Section(name, flags, max(header[8], 1), size, data)


def _symbols(
    image: bytes, headers: list[tuple[int, ...]], sections: dict[int, Section]
) -> list[Symbol]:
    table = next((header for header in headers if header[1] == SYMTAB), None)
    if table is None:
        return []
    names = _contents(image, headers[table[6]])
    symbols = []
    for name, info, _, index, value, size in SYMBOL.iter_unpack(_contents(image, table)):
        text = _text(names, name)
        if index == COMMON or (index == ABSOLUTE and info >> 4 != LOCAL):
            raise unsupported(f"symbol {text} is in no section")
        section = None if index == UNDEFINED else sections.get(index)
        symbols.append(Symbol(text, section, value, size, info & 15, info >> 4 == LOCAL))
    return symbols


def _relocations(image: bytes, header: tuple[int, ...]) -> list[Relocation]:
    return [
        Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)
        for offset, info, addend in RELOCATION.iter_unpack(_contents(image, header))
    ]
