"""Words of tables: their numbers, their types, and the lines that load them."""

import ctypes

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target
from relay_tune.codegen.word_table import (
    ADDRESS,
    NUMBER,
    SMALL_NUMBER,
    WORD,
    Word,
    load_entry,
    load_words,
)


class Part(Word):
    """A table of three words."""

    COUNT = NUMBER
    RANK = SMALL_NUMBER
    PLACE = ADDRESS


def test_words_are_counted_from_zero_though_their_types_repeat() -> None:
    class Pair(Word):
        FIRST = NUMBER
        SECOND = NUMBER

    assert [(word.name, int(word)) for word in Pair] == [("FIRST", 0), ("SECOND", 1)]
    assert [word.llvm_type for word in Part] == ["i64", "i32", "ptr"]


def test_a_word_is_loaded_under_its_name() -> None:
    assert load_words("%part", Part.RANK, prefix="own_") == (
        "  %own_rank.at = getelementptr i64, ptr %part, i64 1\n"
        "  %own_rank = load i32, ptr %own_rank.at, align 8"
    )


def test_code_reads_what_python_has_written() -> None:
    text = f"""
define void @copy(ptr %parts, i64 %number) {{
{load_entry("%part", "%parts", "%number", *Part)}
  %wide = zext i32 %rank to i64
  %sum = add i64 %count, %wide
  store i64 %sum, ptr %place, align 8
  ret void
}}
"""
    code = LoadedCode([compile_text(text, native_target())], ["copy"])
    found = np.zeros(2, np.int64)
    parts = np.array([[10, 1, 0], [20, 2, 0]], np.int64)
    parts[:, Part.PLACE] = found.ctypes.data + WORD * np.arange(2)
    for number in range(2):
        code.function("copy", ctypes.c_void_p, ctypes.c_int64)(parts.ctypes.data, number)
    assert found.tolist() == [11, 22]
