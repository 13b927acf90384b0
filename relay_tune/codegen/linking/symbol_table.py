"""Who defines which symbol: an object, or the system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.codegen.linking.object_file import ObjectFile, Section, Symbol, unsupported
from relay_tune.codegen.linking.system_symbols import SystemSymbol, system_symbol
from relay_tune.machine.linking import Linking
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Import:
    """A function that the system's loader finds."""

    name: str
    symbol: SystemSymbol


Target = Symbol | Import
"""The target of a relocation: a symbol with a section, or a system function."""


def global_symbols(objects: Iterable[ObjectFile]) -> dict[str, Symbol]:
    """The symbols that objects define for each other; BuildError if two define the same one."""
    found: dict[str, Symbol] = {}
    for image in objects:
        for symbol in image.symbols:
            if symbol.section is None or symbol.is_local or not symbol.name:
                continue
            if symbol.name in found:
                raise unsupported(f"two objects define {symbol.name}")
            found[symbol.name] = symbol
    return found


def undefined_names(objects: Sequence[ObjectFile]) -> list[str]:
    """The names that objects use and none of them defines, sorted."""
    known = global_symbols(objects)
    names = {
        symbol.name
        for image in objects
        for symbol in image.symbols
        if symbol.section is None and not symbol.is_local and symbol.name
    }
    return sorted(names - known.keys())


class Resolver:
    """Finds what the symbols of objects mean.

    Attributes:
        symbols: those that objects define for each other, by name.
        imports: the functions of the system that are used, by name, sorted.
    """

    def __init__(self, objects: Sequence[ObjectFile], linking: Linking) -> None:
        """BuildError if nobody has a symbol."""
        self.symbols = global_symbols(objects)
        self.imports: dict[str, Import] = {}
        missing = []
        for name in undefined_names(objects):
            symbol = system_symbol(name, linking)
            if symbol is None:
                missing.append(name)
            else:
                self.imports[name] = Import(name, symbol)
        if missing:
            raise unsupported(f"nobody defines {', '.join(missing)}")

    def target(self, symbol: Symbol) -> Target:
        """The definition that a symbol of an object refers to."""
        if symbol.section is not None:
            return symbol
        found = self.symbols.get(symbol.name) or self.imports.get(symbol.name)
        if found is None:
            raise unsupported(f"{symbol.name or 'a section'} is not part of the program")
        return found


@dataclass(frozen=True, slots=True)
class Uses:
    """The table slots, stubs and words that the relocations of all objects need.

    Attributes:
        slots: the targets that need a slot in the table of addresses, in order.
        stubs: the functions of the system that are called, in order; each has a slot.
        words: how many 64-bit addresses the loader has to complete.
    """

    slots: tuple[Target, ...]
    stubs: tuple[Import, ...]
    words: int


def uses(objects: Sequence[ObjectFile], resolver: Resolver, linking: Linking) -> Uses:
    """Look through all relocations; BuildError for one that is not known."""
    slots: dict[Target, None] = {}
    stubs: dict[Import, None] = {}
    words = 0
    for image in objects:
        for section in image.sections:
            for relocation in section.relocations:
                kind = relocation.kind
                target = resolver.target(image.symbols[relocation.symbol])
                if kind in linking.words:
                    words += 1
                elif kind in linking.slots:
                    slots[target] = None
                elif kind not in linking.direct:
                    raise unsupported(f"{section.name} has a relocation of kind {kind}")
                elif isinstance(target, Import):
                    stubs[target] = None
                    slots[target] = None
    return Uses(tuple(slots), tuple(stubs), words)


def weights_object(symbol: str, size: int) -> tuple[ObjectFile, Section]:
    """An object that defines `symbol` as so many bytes whose contents come later."""
    section = Section("weights", 0, 64, size, None)
    return ObjectFile((section,), (Symbol(symbol, section, 0, size, 1, False),)), section
