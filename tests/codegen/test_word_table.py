"""Words of tables: their numbers, their types, and code that loads them."""

import numpy as np

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.word_table import ADDRESS, NUMBER, SMALL_NUMBER, WORD, Word
from tests.codegen.builder.native_function import native


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


def test_code_reads_what_python_has_written() -> None:
    def write(code: FunctionBuilder) -> None:
        parts, number = code.parameters
        count, rank, slot = parts.to_ptr().entry(Part, number).words(*Part)
        slot.store(count + rank.zext("i64"))
        code.ret(0)

    copy = native(write, 2)
    found = np.zeros(2, np.int64)
    parts = np.array([[10, 1, 0], [20, 2, 0]], np.int64)
    parts[:, Part.PLACE] = found.ctypes.data + WORD * np.arange(2)
    for number in range(2):
        copy(parts.ctypes.data, number)
    assert found.tolist() == [11, 22]
