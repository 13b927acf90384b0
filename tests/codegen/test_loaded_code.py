import ctypes

import numpy as np
import pytest

from relay_tune.codegen import loaded_code
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError

SET = "define void @set(ptr %p) {{ store i64 {number}, ptr %p ret void }}"
CALL = "declare void @nobody() define void @set(ptr %p) { call void @nobody() ret void }"


def setting(text: str) -> LoadedCode:
    return LoadedCode([compile_text(text, native_target())], ["set"])


def number_of(code: LoadedCode) -> int:
    value = np.zeros(1, np.int64)
    code.function("set", ctypes.c_void_p)(value.ctypes.data)
    return int(value[0])


def test_libraries_outlive_others_of_their_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_code, "LIBRARIES_OF_A_LINKER", 3)
    codes = {number: setting(SET.format(number=number)) for number in range(10)}
    for number in (0, 4, 5, 9):
        del codes[number]
    assert {number: number_of(code) for number, code in codes.items()} == {n: n for n in codes}


def test_code_that_does_not_link_leaves_the_linker_as_it_was() -> None:
    before = setting(SET.format(number=1))
    with pytest.raises(BuildError, match="does not link"):
        setting(CALL)
    assert (number_of(before), number_of(setting(SET.format(number=2)))) == (1, 2)
