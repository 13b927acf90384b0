"""Relocations and stubs of AArch64 (ELF for the Arm 64-bit Architecture, 5.7)."""

from __future__ import annotations

import struct

from relay_tune.machine.linking import Linking, checked
from relay_tune.targets.aarch64.machine_code import FUNCTIONS

_ABS64, _PREL64, _PREL32 = 257, 260, 261
_LD_PREL_LO19, _ADR_PREL_LO21, _ADR_PREL_PG_HI21 = 273, 274, 275
_ADD_ABS_LO12, _LDST8, _TSTBR14, _CONDBR19 = 277, 278, 279, 280
_JUMP26, _CALL26, _LDST16, _LDST32, _LDST64, _LDST128 = 282, 283, 284, 285, 286, 299
_ADR_GOT_PAGE, _LD64_GOT_LO12, _PLT32 = 311, 312, 314
_GLOB_DAT, _RELATIVE = 1025, 1027

_LOW_BITS = {
    _ADD_ABS_LO12: 0,
    _LDST8: 0,
    _LDST16: 1,
    _LDST32: 2,
    _LDST64: 3,
    _LDST128: 4,
    _LD64_GOT_LO12: 3,
}
"""Relocation: by how many bits an instruction shifts its 12-bit offset."""

_BRANCHES = {
    _CALL26: (26, 0),
    _JUMP26: (26, 0),
    _CONDBR19: (19, 5),
    _LD_PREL_LO19: (19, 5),
    _TSTBR14: (14, 5),
}
"""Relocation: bits of the distance in instructions, and where they begin."""


def _page(address: int) -> int:
    return address >> 12


def _patch(data: bytearray, offset: int, kind: int, value: int, address: int) -> None:
    if kind == _PREL64:
        struct.pack_into("<q", data, offset, value - address)
        return
    if kind in (_PREL32, _PLT32):
        struct.pack_into("<i", data, offset, checked(value - address, 32))
        return
    (instruction,) = struct.unpack_from("<I", data, offset)
    struct.pack_into("<I", data, offset, _instruction(instruction, kind, value, address))


def _instruction(instruction: int, kind: int, value: int, address: int) -> int:
    """An instruction with its field filled in."""
    if kind in _LOW_BITS:
        shift = _LOW_BITS[kind]
        return instruction & ~(0xFFF << 10) | (value & 0xFFF) >> shift << 10
    if kind in _BRANCHES:
        bits, start = _BRANCHES[kind]
        mask = (1 << bits) - 1
        steps = checked(value - address, bits + 2) >> 2
        return instruction & ~(mask << start) | (steps & mask) << start
    distance = value - address if kind == _ADR_PREL_LO21 else _page(value) - _page(address)
    return _with_adr(instruction, checked(distance, 21))


def _with_adr(instruction: int, distance: int) -> int:
    """ADR or ADRP with a distance of 21 bits, the lowest two of which stand apart."""
    low, high = distance & 3, distance >> 2 & 0x7FFFF
    return instruction & ~(3 << 29 | 0x7FFFF << 5) | low << 29 | high << 5


def _stub(address: int, slot: int) -> bytes:
    """`adrp x16, page; ldr x17, [x16, offset]; br x17; brk`."""
    page = _with_adr(0x90000010, checked(_page(slot) - _page(address), 21))
    load = 0xF9400211 | (slot & 0xFFF) >> 3 << 10
    return struct.pack("<IIII", page, load, 0xD61F0220, 0xD4200000)


LINKING = Linking(
    machine=183,  # EM_AARCH64
    page_bytes=65536,
    words=frozenset((_ABS64,)),
    slots=frozenset((_ADR_GOT_PAGE, _LD64_GOT_LO12)),
    direct=frozenset(
        (_PREL64, _PREL32, _PLT32, _ADR_PREL_LO21, _ADR_PREL_PG_HI21, *_BRANCHES, *_LOW_BITS)
    )
    - {_LD64_GOT_LO12},
    relative=_RELATIVE,
    absolute=_ABS64,
    slot=_GLOB_DAT,
    stub=_stub,
    patch=_patch,
    first_version="GLIBC_2.17",
    functions=FUNCTIONS,
)
