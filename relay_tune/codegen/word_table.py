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


def load_words(base: str, *words: Word, prefix: str = "") -> str:
    """Lines of LLVM IR that load words of the table at `base`; each gets the name of its word.

    load_words("%step", Step.PLACE):

        %place.at = getelementptr i64, ptr %step, i64 1
        %place = load i64, ptr %place.at, align 8
    """
    lines = []
    for word in words:
        name = f"%{prefix}{word.name.lower()}"
        lines += [
            f"  {name}.at = getelementptr i64, ptr {base}, i64 {word.value}",
            f"  {name} = load {word.llvm_type}, ptr {name}.at, align 8",
        ]
    return "\n".join(lines)


def find_entry(entry: str, table: str, kind: type[Word], number: str) -> str:
    """A line of LLVM IR: the address of entry `number` in an array of tables of one kind.

    find_entry("%step", "%steps", Step, "%number"):

        %step = getelementptr [6 x i64], ptr %steps, i64 %number
    """
    return f"  {entry} = getelementptr [{len(kind)} x i64], ptr {table}, i64 {number}"


def load_entry(entry: str, table: str, number: str, *words: Word, prefix: str = "") -> str:
    """Lines of LLVM IR that find an entry, as `find_entry` does, and load words of it."""
    kind = type(words[0])
    lines = [find_entry(entry, table, kind, number), load_words(entry, *words, prefix=prefix)]
    return "\n".join(lines)
