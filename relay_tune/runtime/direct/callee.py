"""What a direct call runs: a program, the way to run it, and what its errors mean."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from relay_tune.codegen.direct.call_text import (
    RUN_CHECKED_NETWORK,
    RUN_LIBRARY,
    RUN_NETWORK,
    RUN_SESSION,
)
from relay_tune.codegen.direct.words import Call
from relay_tune.codegen.word_table import WORD
from relay_tune.runtime.direct.code import direct_code, function_address, new_words
from relay_tune.runtime.index_status import IndexStatus
from relay_tune.runtime.native_session import NativeSession

Table = ctypes.Array[ctypes.c_void_p]


@dataclass(frozen=True, eq=False, slots=True)
class Callee:
    """A native program.

    Attributes:
        words: the words of a call that are the program's own.
        inputs: the address of the table of inputs.
        outputs: that of the table of outputs.
        error: what a status of the program above 0 means.
        overlaps: whether other calls of the program may run at the same time.
        kept: what must stay in memory.
    """

    words: Mapping[Call, int]
    inputs: int
    outputs: int
    error: Callable[[int], Exception]
    overlaps: bool = False
    kept: tuple[object, ...] = field(default=())


def network_callee(
    function: int, table: Table, inputs: int, status: IndexStatus | None = None
) -> Callee:
    """The main function of a network, whose table begins with so many inputs, then outputs.

    `status` tells whether the indices of a run were in range, where there are some.
    """
    start = ctypes.addressof(table)
    words = {Call.WAY: direct_code().address(RUN_NETWORK), Call.FUNCTION: function}
    if status is None:
        return Callee(words, start, start + WORD * inputs, _no_error, kept=(table,))
    words[Call.WAY] = direct_code().address(RUN_CHECKED_NETWORK)
    words[Call.STATUS] = status.address
    words[Call.FOUND] = ctypes.addressof(status.found)
    return Callee(words, start, start + WORD * inputs, status.error, kept=(table, status))


def library_callee(
    function: object, inputs: int, outputs: int, error: Callable[[int], Exception]
) -> Callee:
    """The function `NAME_run` of a library, with so many inputs and outputs."""
    tables = new_words(inputs), new_words(outputs)
    words = {
        Call.WAY: direct_code().address(RUN_LIBRARY),
        Call.FUNCTION: function_address(function),
    }
    first, second = map(ctypes.addressof, tables)
    return Callee(words, first, second, error, overlaps=True, kept=(function, *tables))


def session_callee(session: NativeSession, inputs: int, outputs: int, resets: bool) -> Callee:
    """A program with a session, which is emptied after each call if it `resets`.

    There are so many words in the tables of inputs and outputs.
    """
    tables = new_words(inputs), new_words(outputs)
    functions = session.functions
    words = {
        Call.WAY: direct_code().address(RUN_SESSION),
        Call.FUNCTION: function_address(functions.call),
        Call.SESSION: session.address,
        Call.RESETS: int(resets),
        Call.BUILD: function_address(functions.build),
        Call.READ: function_address(functions.read),
        Call.RELEASE: function_address(functions.release),
        Call.RESET: function_address(functions.reset),
        Call.HAND_OVER: function_address(functions.hand_over),
    }
    first, second = map(ctypes.addressof, tables)
    return Callee(words, first, second, session.error, kept=(session, *tables))


def _no_error(status: int) -> Exception:
    return AssertionError(f"A network ended with {status}.")
