"""Tables of words: what Python writes and native code reads, by the names of the words.

A word has 64 bits: a number, or an address.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self

WORD = 8
"""The bytes of a word."""

NUMBER, SMALL_NUMBER, ADDRESS = "i64", "i32", "ptr"
"""How LLVM IR loads a word; of a small number the lower half, which comes first."""


class Word(IntEnum):
    """The number of a word in its table, counted from 0; its value in the class is its type."""

    llvm_type: str

    def __new__(cls, llvm_type: str) -> Self:
        """The next word of the table."""
        number = len(cls.__members__)
        word = int.__new__(cls, number)
        word._value_ = number
        word.llvm_type = llvm_type
        return word
