"""Filling in addresses: fields of sections, slots, stubs, and what is left to the loader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.codegen.linking.elf import RELOCATION
from relay_tune.codegen.linking.layout import OutputSection
from relay_tune.codegen.linking.object_file import (
    ObjectFile,
    Relocation,
    Section,
    Symbol,
    unsupported,
)
from relay_tune.codegen.linking.symbol_table import Import, Resolver, Target, Uses
from relay_tune.machine.linking import STUB_BYTES, Linking

SLOT_BYTES = 8


class Addresses:
    """Where sections of objects, slots and stubs lie in memory."""

    def __init__(
        self,
        outputs: Sequence[OutputSection],
        uses: Uses,
        slots: OutputSection,
        stubs: OutputSection,
    ) -> None:
        self._parts = {part: output for output in outputs for part in output.parts}
        self._slots = {
            target: slots.address + SLOT_BYTES * n for n, target in enumerate(uses.slots)
        }
        self._stubs = {
            target: stubs.address + STUB_BYTES * n for n, target in enumerate(uses.stubs)
        }

    def output(self, section: Section) -> OutputSection:
        """The section of the library that a section of an object is part of."""
        return self._parts[section]

    def output_of(self, symbol: Symbol) -> OutputSection:
        """The section of the library in which a symbol is defined."""
        return self._parts[_section_of(symbol)]

    def section(self, section: Section) -> int:
        """The address of a section of an object."""
        output = self._parts[section]
        return output.address + output.parts[section]

    def slot(self, target: Target) -> int:
        """The address of the slot that holds a target's address."""
        return self._slots[target]

    def target(self, target: Target) -> int:
        """The address of a symbol, or of the stub of a function of the system."""
        if isinstance(target, Import):
            return self._stubs[target]
        return self.section(_section_of(target)) + target.value


def _section_of(symbol: Symbol) -> Section:
    if symbol.section is None:
        raise unsupported(f"{symbol.name} is in no section that is part of the program")
    return symbol.section


class Relocator:
    """Applies relocations and collects those that the loader has to carry out."""

    def __init__(
        self,
        linking: Linking,
        resolver: Resolver,
        addresses: Addresses,
        numbers: Mapping[str, int],
    ) -> None:
        """`numbers` are those of the symbols that the loader knows."""
        self._linking = linking
        self._resolver = resolver
        self._addresses = addresses
        self._numbers = numbers
        self._relative: list[bytes] = []
        self._named: list[bytes] = []

    @property
    def left_to_the_loader(self) -> list[bytes]:
        """Its relocations, those without a symbol first."""
        return self._relative + self._named

    def apply(self, image: ObjectFile) -> None:
        """Fill in the fields of all sections of an object."""
        for section in image.sections:
            for relocation in section.relocations:
                symbol = image.symbols[relocation.symbol]
                self._apply_one(section, relocation, self._resolver.target(symbol))

    def _apply_one(self, section: Section, relocation: Relocation, target: Target) -> None:
        output = self._addresses.output(section)
        address = self._addresses.section(section) + relocation.offset
        if relocation.kind in self._linking.words:
            self._word(address, target, relocation.addend, self._linking.absolute)
            return
        if relocation.kind in self._linking.slots:
            value = self._addresses.slot(target)
        else:
            value = self._addresses.target(target)
        offset = output.parts[section] + relocation.offset
        total = value + relocation.addend
        self._linking.patch(output.data, offset, relocation.kind, total, address)

    def fill_slots(self, uses: Uses) -> None:
        """Have the loader write the addresses of all slots."""
        for target in uses.slots:
            self._word(self._addresses.slot(target), target, 0, self._linking.slot)

    def _word(self, address: int, target: Target, addend: int, kind: int) -> None:
        """A 64-bit address that is known when the library is loaded."""
        if isinstance(target, Import):
            number = self._numbers[target.name]
            self._named.append(RELOCATION.pack(address, number << 32 | kind, addend))
        else:
            value = self._addresses.target(target) + addend
            self._relative.append(RELOCATION.pack(address, self._linking.relative, value))


def stub_code(uses: Uses, addresses: Addresses, linking: Linking) -> bytes:
    """The stubs that jump to functions of the system."""
    return b"".join(
        linking.stub(addresses.target(target), addresses.slot(target)) for target in uses.stubs
    )
