"""The tables that the system's loader reads: symbols, their hashes and versions, what is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack

from relay_tune.codegen.linking.elf import (
    BIND_NOW,
    DT_FLAGS,
    DT_FLAGS_1,
    DT_HASH,
    DT_NEEDED,
    DT_NULL,
    DT_RELA,
    DT_RELACOUNT,
    DT_RELAENT,
    DT_RELASZ,
    DT_SONAME,
    DT_STRSZ,
    DT_STRTAB,
    DT_SYMENT,
    DT_SYMTAB,
    DT_VERNEED,
    DT_VERNEEDNUM,
    DT_VERSYM,
    DYNAMIC,
    DYNAMIC_SECTION,
    DYNSYM,
    FUNCTION,
    GLOBAL,
    GNU_VERSION,
    GNU_VERSION_NEED,
    HASH,
    NOW,
    RELA,
    RELOCATION,
    SHF_ALLOC,
    SHF_WRITE,
    STRTAB,
    SYMBOL,
    VERSION_AUX,
    VERSION_NEED,
    Strings,
    elf_hash,
)
from relay_tune.codegen.linking.layout import OutputSection
from relay_tune.codegen.linking.object_file import Symbol
from relay_tune.codegen.linking.relocation import Addresses
from relay_tune.codegen.linking.symbol_table import Import

_FIRST_VERSION = 2
"""0 and 1 mean local and global symbols without a version."""


class DynamicTables:
    """The tables of a library, first as sections of known size, later with their contents.

    Symbols are numbered: the imports first, then what the library exports.
    """

    def __init__(
        self, soname: str, imports: Sequence[Import], exports: Sequence[str], relocations: int
    ) -> None:
        """`relocations` is how many the loader has to carry out."""
        self._imports = imports
        self._exports = exports
        self._strings = Strings()
        self._soname = self._strings.add(soname)
        self._versions = _versions(imports)
        self._libraries = list(self._versions)
        names = [*(each.name for each in imports), *exports]
        self.numbers = {name: number for number, name in enumerate(names, start=1)}
        for text in (*names, *self._libraries, *(v for vs in self._versions.values() for v in vs)):
            self._strings.add(text)
        count = len(names) + 1
        self.hash = _table(".hash", HASH, _hash_table(names), 4, ".dynsym")
        self.symbols = _table(".dynsym", DYNSYM, bytes(SYMBOL.size * count), SYMBOL.size, ".dynstr")
        self.symbols.info = 1
        self.strings = _table(".dynstr", STRTAB, self._strings.data, 0, "")
        numbers = self._version_numbers()
        self.version_numbers = _table(".gnu.version", GNU_VERSION, numbers, 2, ".dynsym")
        needs = self._version_needs()
        self.version_needs = _table(".gnu.version_r", GNU_VERSION_NEED, needs, 0, ".dynstr")
        self.version_needs.info = len(self._libraries)
        room = bytes(RELOCATION.size * relocations)
        self.relocations = _table(".rela.dyn", RELA, room, RELOCATION.size, ".dynsym")
        self.dynamic = _table(".dynamic", DYNAMIC_SECTION, b"", DYNAMIC.size, ".dynstr")
        self.dynamic.flags |= SHF_WRITE
        self.dynamic.size = DYNAMIC.size * len(self._entries(0))

    @property
    def sections(self) -> tuple[OutputSection, ...]:
        """The tables that are only read."""
        return (
            self.hash,
            self.symbols,
            self.strings,
            self.version_numbers,
            self.version_needs,
            self.relocations,
        )

    def fill(
        self,
        symbols: Mapping[str, Symbol],
        addresses: Addresses,
        numbers: Mapping[OutputSection, int],
        relocations: Sequence[bytes],
    ) -> None:
        """Write what depends on addresses.

        `numbers` are those of the library's sections; `relocations` are those of the loader, the
        ones without a symbol first.
        """
        rows = [bytes(SYMBOL.size)]
        for each in self._imports:
            start = self._strings.add(each.name)
            rows.append(SYMBOL.pack(start, GLOBAL << 4 | FUNCTION, 0, 0, 0, 0))
        for name in self._exports:
            symbol = symbols[name]
            number = numbers[addresses.output_of(symbol)]
            start, info = self._strings.add(name), GLOBAL << 4 | symbol.kind
            rows.append(SYMBOL.pack(start, info, 0, number, addresses.target(symbol), symbol.size))
        self.symbols.data[:] = b"".join(rows)
        self.relocations.data[:] = b"".join(relocations)
        relative = sum(RELOCATION.unpack(row)[1] >> 32 == 0 for row in relocations)
        self.dynamic.data[:] = b"".join(DYNAMIC.pack(*entry) for entry in self._entries(relative))

    def _entries(self, relative: int) -> list[tuple[int, int]]:
        entries = [(DT_NEEDED, self._strings.add(name)) for name in self._libraries]
        entries += [
            (DT_SONAME, self._soname),
            (DT_HASH, self.hash.address),
            (DT_STRTAB, self.strings.address),
            (DT_SYMTAB, self.symbols.address),
            (DT_STRSZ, self.strings.size),
            (DT_SYMENT, SYMBOL.size),
            (DT_RELA, self.relocations.address),
            (DT_RELASZ, self.relocations.size),
            (DT_RELAENT, RELOCATION.size),
            (DT_RELACOUNT, relative),
            (DT_VERSYM, self.version_numbers.address),
            (DT_VERNEED, self.version_needs.address),
            (DT_VERNEEDNUM, len(self._libraries)),
            (DT_FLAGS, BIND_NOW),
            (DT_FLAGS_1, NOW),
            (DT_NULL, 0),
        ]
        absent = set()
        if not self.relocations.size:
            absent |= {DT_RELA, DT_RELASZ, DT_RELAENT, DT_RELACOUNT}
        if not self._libraries:
            absent |= {DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM}
        return [entry for entry in entries if entry[0] not in absent]

    def _version_numbers(self) -> bytes:
        if not self._libraries:
            return b""
        pairs = ((name, v) for name, versions in self._versions.items() for v in versions)
        known = {pair: number for number, pair in enumerate(pairs, start=_FIRST_VERSION)}
        of_imports = [known[each.symbol.library, each.symbol.version] for each in self._imports]
        numbers = [0, *of_imports, *(1 for _ in self._exports)]
        return pack(f"<{len(numbers)}H", *numbers)

    def _version_needs(self) -> bytes:
        rows = []
        number = _FIRST_VERSION
        for position, (library, versions) in enumerate(self._versions.items(), start=1):
            size = VERSION_NEED.size + VERSION_AUX.size * len(versions)
            following = 0 if position == len(self._versions) else size
            start = self._strings.add(library)
            rows.append(VERSION_NEED.pack(1, len(versions), start, VERSION_NEED.size, following))
            for version in versions:
                following = 0 if version == versions[-1] else VERSION_AUX.size
                name = self._strings.add(version)
                rows.append(VERSION_AUX.pack(elf_hash(version), 0, number, name, following))
                number += 1
        return b"".join(rows)


def _versions(imports: Sequence[Import]) -> dict[str, list[str]]:
    """The libraries that are needed, and the versions that are asked of each."""
    found: dict[str, set[str]] = {}
    for each in imports:
        found.setdefault(each.symbol.library, set()).add(each.symbol.version)
    return {library: sorted(found[library]) for library in sorted(found)}


def _hash_table(names: Sequence[str]) -> bytes:
    """Chains of symbols whose hashes are equal modulo the number of chains."""
    buckets = [0] * max(len(names), 1)
    chains = [0] * (len(names) + 1)
    for number, name in enumerate(names, start=1):
        bucket = elf_hash(name) % len(buckets)
        chains[number], buckets[bucket] = buckets[bucket], number
    words = [len(buckets), len(chains), *buckets, *chains]
    return pack(f"<{len(words)}I", *words)


def _table(name: str, kind: int, data: bytes, entry_bytes: int, link: str) -> OutputSection:
    return OutputSection(
        name,
        kind,
        SHF_ALLOC,
        entry_bytes=entry_bytes,
        size=len(data),
        data=bytearray(data),
        link=link,
    )
