"""What the linker has to know of an architecture, as data and two functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from relay_tune.errors import BuildError
from relay_tune.quick_dataclass import dataclass

Patch = Callable[[bytearray, int, int, int, int], None]
"""`patch(data, offset, kind, value, address)` fills in the field at an offset of a section's data,
whose address in memory is given; `value` is what the symbol, or its slot, and the addend add up
to."""


@dataclass(frozen=True, eq=False, slots=True)
class Linking:
    """How code of an architecture is put into a shared library (ELF).

    Attributes:
        machine: its ELF number.
        page_bytes: the largest page that its systems use.
        words: relocations that are 64-bit addresses; the loader completes them.
        slots: relocations that want the address of a symbol's slot in the table of addresses.
        direct: relocations that want the symbol itself, or a stub that jumps to it.
        relative: the loader's relocation that adds the address of the library.
        absolute: the loader's relocation of a word that names a symbol.
        slot: the loader's relocation of a slot.
        stub: `stub(address, slot)` is code at an address that jumps to what a slot holds.
        patch: fills in a field.
        first_version: of the system's C library for the architecture; most functions have kept it.
        later_versions: of functions that came or changed later.
        functions: those that no LLVM IR can say, as machine code (`relay_tune.codegen.programs`).
    """

    machine: int
    page_bytes: int
    words: frozenset[int]
    slots: frozenset[int]
    direct: frozenset[int]
    relative: int
    absolute: int
    slot: int
    stub: Callable[[int, int], bytes]
    patch: Patch
    first_version: str
    later_versions: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, bytes] = field(default_factory=dict)


STUB_BYTES = 16


def checked(value: int, bits: int) -> int:
    """A signed number that must fit into so many bits; BuildError if it does not."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise BuildError(
            "The library is too large to be linked: two of its parts that refer to each other are "
            f"{abs(value)} bytes apart, and {1 << bits - 1} is the most that fits.",
            remedy="Split the model into several libraries.",
        )
    return value
