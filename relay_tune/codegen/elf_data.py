"""A relocatable ELF file that holds one block of data under one symbol.

It takes weights into a library without a compiler or an assembler, and without a second copy of
them in memory. Layout: file header, data, symbols, names, section headers (System V ABI,
chapter 4).
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from relay_tune.errors import BuildError

MACHINES = {"x86_64": 62, "aarch64": 183}
"""EM_X86_64 and EM_AARCH64."""

DATA_ALIGNMENT = 64
SECTION_NAMES = b"\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
ALLOCATED = 2
DATA_SECTION = 1
HEADER_BYTES = 64
SYMBOL_BYTES = 24


def write_elf_data(path: Path, symbol: str, data: np.ndarray, architecture: str) -> None:
    """Write an object file that defines the global `symbol` as `data` (bytes, 64-byte aligned).

    Raises BuildError for an architecture whose files are not known.
    """
    machine = MACHINES.get(architecture)
    if machine is None:
        raise BuildError(
            f"A library for {architecture} cannot be written.",
            notes=(f"Known are: {', '.join(MACHINES)}, with ELF files.",),
            remedy="Choose a target with one of these processors.",
        )
    names = b"\0" + symbol.encode() + b"\0"
    symbols = bytes(SYMBOL_BYTES) + _symbol(data.nbytes)
    with path.open("wb") as file:
        file.write(
            _header(machine, DATA_ALIGNMENT + _padded(data.nbytes), len(symbols) + len(names))
        )
        data.tofile(file)
        file.write(bytes(_padded(data.nbytes) - data.nbytes))
        file.write(symbols + names + SECTION_NAMES)
        file.write(bytes(-(len(symbols) + len(names) + len(SECTION_NAMES)) % 8))
        file.write(_section_headers(data.nbytes, len(symbols), len(names)))


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def _header(machine: int, data_end: int, tables: int) -> bytes:
    sections = data_end + _padded(tables + len(SECTION_NAMES))
    identification = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return identification + struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, sections, 0, HEADER_BYTES, 0, 0, 64, 6, 4
    )


def _symbol(size: int) -> bytes:
    """A global object at the start of the data section, its name at 1."""
    return struct.pack("<IBBHQQ", 1, (1 << 4) | 1, 0, DATA_SECTION, 0, size)


def _section_headers(data: int, symbols: int, names: int) -> bytes:
    first = HEADER_BYTES + _padded(data)
    headers = [
        bytes(64),
        _section(".rodata", PROGBITS, ALLOCATED, HEADER_BYTES, data, alignment=DATA_ALIGNMENT),
        _section(".symtab", SYMTAB, 0, first, symbols, link=3, info=1, entry=SYMBOL_BYTES),
        _section(".strtab", STRTAB, 0, first + symbols, names),
        _section(".shstrtab", STRTAB, 0, first + symbols + names, len(SECTION_NAMES)),
        _section(".note.GNU-stack", PROGBITS, 0, first, 0),
    ]
    return b"".join(headers)


def _section(
    name: str,
    kind: int,
    flags: int,
    offset: int,
    size: int,
    *,
    alignment: int = 8,
    link: int = 0,
    info: int = 0,
    entry: int = 0,
) -> bytes:
    place = SECTION_NAMES.index(b"\0" + name.encode() + b"\0") + 1
    return struct.pack(
        "<IIQQQQIIQQ", place, kind, flags, 0, offset, size, link, info, alignment, entry
    )
