"""The table of all symbols, for profilers and debuggers; the system's loader does not read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay_tune.codegen.linking.elf import (
    FUNCTION,
    GLOBAL,
    LOCAL,
    OBJECT,
    STRTAB,
    SYMBOL,
    SYMTAB,
    Strings,
)
from relay_tune.codegen.linking.layout import OutputSection
from relay_tune.codegen.linking.object_file import ObjectFile, Symbol
from relay_tune.codegen.linking.relocation import Addresses


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
