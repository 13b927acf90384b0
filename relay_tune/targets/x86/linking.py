"""Relocations and stubs of x86-64 (System V ABI, AMD64 architecture supplement, 4.4)."""

from __future__ import annotations

import struct

from relay_tune.machine.linking import STUB_BYTES, Linking, checked
from relay_tune.targets.x86.machine_code import FUNCTIONS

_ABS64, _PC32, _PLT32, _GOTPCREL, _PC64 = 1, 2, 4, 9, 24
_GOTPCRELX, _REX_GOTPCRELX = 41, 42
_GLOB_DAT, _RELATIVE = 6, 8


def _patch(data: bytearray, offset: int, kind: int, value: int, address: int) -> None:
    distance = value - address
    if kind == _PC64:
        struct.pack_into("<q", data, offset, distance)
    else:
        struct.pack_into("<i", data, offset, checked(distance, 32))


def _stub(address: int, slot: int) -> bytes:
    """`jmp *slot(%rip)`, padded with traps."""
    length = 6
    jump = b"\xff\x25" + struct.pack("<i", checked(slot - address - length, 32))
    return jump.ljust(STUB_BYTES, b"\xcc")


_LATER_VERSIONS = {
    "clock_gettime": "GLIBC_2.17",
    "getauxval": "GLIBC_2.16",
    "memcpy": "GLIBC_2.14",
    "pthread_cond_broadcast": "GLIBC_2.3.2",
    "pthread_cond_init": "GLIBC_2.3.2",
    "pthread_cond_wait": "GLIBC_2.3.2",
    "pthread_setaffinity_np": "GLIBC_2.3.4",
    "sched_getaffinity": "GLIBC_2.3.4",
    "sched_getcpu": "GLIBC_2.6",
}

LINKING = Linking(
    machine=62,  # EM_X86_64
    page_bytes=4096,
    words=frozenset((_ABS64,)),
    slots=frozenset((_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)),
    direct=frozenset((_PC32, _PLT32, _PC64)),
    relative=_RELATIVE,
    absolute=_ABS64,
    slot=_GLOB_DAT,
    stub=_stub,
    patch=_patch,
    first_version="GLIBC_2.2.5",
    later_versions=_LATER_VERSIONS,
    functions=FUNCTIONS,
)
