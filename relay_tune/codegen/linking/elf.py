"""The structures of the ELF file format, 64 bits, little-endian.

System V Application Binary Interface, chapters 4 and 5; symbol versions: Linux Standard Base,
10.7.
"""

from __future__ import annotations

from struct import Struct

FILE_HEADER = Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = Struct("<IIQQQQQQ")
SECTION_HEADER = Struct("<IIQQQQIIQQ")
SYMBOL = Struct("<IBBHQQ")
RELOCATION = Struct("<QQq")
DYNAMIC = Struct("<qQ")
VERSION_NEED = Struct("<HHIII")
VERSION_AUX = Struct("<IHHII")
NOTE = Struct("<III")

IDENTIFICATION = b"\x7fELF\x02\x01\x01" + bytes(9)

RELOCATABLE, SHARED_OBJECT = 1, 3

PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
EXECUTE, WRITE, READ = 1, 2, 4

PROGBITS, SYMTAB, STRTAB, RELA, HASH, DYNAMIC_SECTION, NOTE_SECTION, NOBITS = 1, 2, 3, 4, 5, 6, 7, 8
DYNSYM, GNU_VERSION, GNU_VERSION_NEED = 11, 0x6FFFFFFF, 0x6FFFFFFE
X86_64_UNWIND = 0x70000001
SHF_WRITE, SHF_ALLOC, SHF_EXECUTE, SHF_TLS = 1, 2, 4, 0x400

LOCAL, GLOBAL, WEAK = 0, 1, 2
NO_TYPE, OBJECT, FUNCTION, SECTION_SYMBOL = 0, 1, 2, 3
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2

DT_NULL, DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB = 0, 1, 4, 5, 6
DT_RELA, DT_RELASZ, DT_RELAENT, DT_STRSZ, DT_SYMENT, DT_SONAME = 7, 8, 9, 10, 11, 14
DT_FLAGS, DT_FLAGS_1 = 30, 0x6FFFFFFB
DT_RELACOUNT, DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFF9, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
BIND_NOW, NOW = 8, 1


def elf_hash(name: str) -> int:
    """The hash of a name in symbol tables and versions."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high
    return value


class Strings:
    """A table of strings that end with zeros; equal ones are kept once."""

    def __init__(self) -> None:
        self._offsets = {"": 0}
        self._data = bytearray(1)

    def add(self, text: str) -> int:
        """The offset of a string."""
        if text not in self._offsets:
            self._offsets[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._offsets[text]

    @property
    def data(self) -> bytes:
        """The table."""
        return bytes(self._data)


def aligned(value: int, alignment: int) -> int:
    """The next multiple of an alignment."""
    return -(-value // alignment) * alignment
