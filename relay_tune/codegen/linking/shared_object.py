"""Writing a shared object: objects and weights to one file that the system's loader takes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import BinaryIO

from relay_tune.codegen.linking.dynamic import DynamicTables
from relay_tune.codegen.linking.elf import (
    FUNCTION,
    GLOBAL,
    LOCAL,
    NOTE_SECTION,
    OBJECT,
    SHF_ALLOC,
    SHF_EXECUTE,
    SHF_WRITE,
    STRTAB,
    SYMBOL,
    SYMTAB,
    Strings,
)
from relay_tune.codegen.linking.file_image import FileImage
from relay_tune.codegen.linking.layout import OutputSection, merged_sections, segments_of
from relay_tune.codegen.linking.note import ALIGNMENT, CHECKSUM_OFFSET, Note, note_size, write_note
from relay_tune.codegen.linking.object_file import ObjectFile, Symbol, code_object, parse_object
from relay_tune.codegen.linking.relocation import SLOT_BYTES, Addresses, Relocator, stub_code
from relay_tune.codegen.linking.symbol_table import (
    Resolver,
    Uses,
    undefined_names,
    uses,
    weights_object,
)
from relay_tune.machine.linking import STUB_BYTES, Linking
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """A block of constant bytes that is written piece by piece.

    Attributes:
        symbol: what the objects call it.
        size: in bytes.
        pieces: the bytes in order, made anew with each call.
    """

    symbol: str
    size: int
    pieces: Callable[[], Iterable[memoryview]]


@dataclass(frozen=True, slots=True)
class LibraryNames:
    """The name of a library, and the symbols that it exports.

    Attributes:
        soname: the name by which programs ask for it.
        exported: patterns of the symbols that others may use.
        description: what a loader has to know; see `relay_tune.codegen.linking.note`.
        aliases: further symbols that others may use, and which of the objects' each is.
    """

    soname: str
    exported: tuple[str, ...]
    description: bytes
    aliases: Mapping[str, str] = field(default_factory=dict)


def undefined_symbols(images: Sequence[bytes], linking: Linking) -> list[str]:
    """The names that object files use and none of them defines, sorted."""
    return undefined_names([parse_object(image, linking.machine) for image in images])


def write_shared_object(
    file: BinaryIO,
    images: Sequence[bytes],
    weights: Weights,
    names: LibraryNames,
    linking: Linking,
) -> None:
    """Link object files and weights into a shared object for Linux, written to an empty file.

    Functions that are machine code are linked where an object wants them.
    The same input gives the same bytes. Raises BuildError for an object that is not understood, and
    for symbols that nobody defines.
    """
    functions = linking.functions
    objects = [parse_object(image, linking.machine) for image in images]
    wanted = [name for name in undefined_names(objects) if name in functions]
    objects.append(code_object({name: functions[name] for name in wanted}))
    head, checksum_at = _linked(objects, weights, names, linking)
    file.write(head)
    checksum = zlib.crc32(head)
    for piece in weights.pieces():
        file.write(piece)
        checksum = zlib.crc32(piece, checksum)
    file.seek(checksum_at)
    file.write(checksum.to_bytes(4, "little"))


def _linked(
    code: Sequence[ObjectFile],
    weights: Weights,
    names: LibraryNames,
    linking: Linking,
) -> tuple[bytes, int]:
    """The file as far as the weights, with a checksum of zero, and where the checksum stands."""
    constants, block = _weights_section(weights)
    resolver = Resolver([*code, constants], linking)
    used = uses(code, resolver, linking)
    exported = sorted({*_exported(resolver, names.exported), *names.aliases})
    symbols = dict(resolver.symbols)
    symbols.update((alias, symbols[name]) for alias, name in names.aliases.items())
    imports = list(resolver.imports.values())
    tables = DynamicTables(names.soname, imports, exported, used.words + len(used.slots))
    note, stubs, slots = _own_sections(used, names.description)
    merged = merged_sections(code)
    segments = segments_of((note, *tables.sections), merged, stubs, (tables.dynamic, slots))
    image = FileImage(segments, block, linking)
    addresses = Addresses([*merged.values(), block], used, slots, stubs)
    relocator = Relocator(linking, resolver, addresses, tables.numbers)
    for part in code:
        relocator.apply(part)
    relocator.fill_slots(used)
    stubs.data[:] = stub_code(used, addresses, linking)
    tables.fill(symbols, addresses, image.numbers, relocator.left_to_the_loader)
    image.finish(tool_symbols([*code, constants], addresses, image.numbers, exported))
    note.data[:] = write_note(Note(image.size, 0, image.size - weights.size, names.description))
    return image.head(), note.offset + CHECKSUM_OFFSET


def _weights_section(weights: Weights) -> tuple[ObjectFile, OutputSection]:
    """The object that the weights are, and their section in the library."""
    constants, section = weights_object(weights.symbol, weights.size)
    block = OutputSection(".weights", alignment=section.alignment, size=weights.size)
    block.parts[section] = 0
    return constants, block


def _own_sections(used: Uses, description: bytes) -> tuple[OutputSection, ...]:
    """The note, the stubs and the slots, of the right sizes."""
    note = OutputSection(".note.relay_tune", NOTE_SECTION, alignment=ALIGNMENT)
    note.size = note_size(description)
    stubs = OutputSection(".plt", flags=SHF_ALLOC | SHF_EXECUTE, alignment=16)
    stubs.size = STUB_BYTES * len(used.stubs)
    slots = OutputSection(".got", flags=SHF_ALLOC | SHF_WRITE, entry_bytes=SLOT_BYTES)
    slots.size = SLOT_BYTES * len(used.slots)
    slots.data[:] = bytes(slots.size)
    return note, stubs, slots


def _exported(resolver: Resolver, patterns: Sequence[str]) -> list[str]:
    """The names of the symbols that others may use."""
    return [
        name for name in resolver.symbols if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def tool_symbols(
    objects: Iterable[ObjectFile],
    addresses: Addresses,
    numbers: Mapping[OutputSection, int],
    exported: Iterable[str],
) -> tuple[OutputSection, OutputSection]:
    """The sections `.symtab` and `.strtab`; `numbers` are those of the library's sections."""
    shown = set(exported)
    strings = Strings()
    rows: dict[bool, list[bytes]] = {False: [bytes(SYMBOL.size)], True: []}
    for image in objects:
        for symbol in image.symbols:
            if symbol.section is None or symbol.kind not in (FUNCTION, OBJECT):
                continue
            number = numbers.get(addresses.output(symbol.section))
            if number is not None:
                is_shown = symbol.name in shown and not symbol.is_local
                rows[is_shown].append(_row(symbol, strings, addresses, number, is_shown))
    data = b"".join(rows[False] + rows[True])
    table = OutputSection(".symtab", SYMTAB, 0, entry_bytes=SYMBOL.size, link=".strtab")
    table.data[:], table.size, table.info = data, len(data), len(rows[False])
    names = OutputSection(".strtab", STRTAB, 0, alignment=1)
    names.data[:], names.size = strings.data, len(strings.data)
    return table, names


def _row(
    symbol: Symbol, strings: Strings, addresses: Addresses, number: int, is_shown: bool
) -> bytes:
    binding = GLOBAL if is_shown else LOCAL
    info = binding << 4 | symbol.kind
    address = addresses.target(symbol)
    return SYMBOL.pack(strings.add(symbol.name), info, 0, number, address, symbol.size)
