"""Callee of a direct call: a program in a session, and the meaning of its errors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import field

from relay_tune.codegen.direct.words import Call
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.direct.code import function_address, new_words
from relay_tune.runtime.native_session import NativeSession


@dataclass(frozen=True, eq=False, slots=True)
class Callee:
    """A native program.

    Attributes:
        words: the words of a call that are the program's own.
        inputs: the address of the table of inputs.
        outputs: that of the table of outputs.
        error: what a status of the program above 0 means.
        kept: what must stay in memory.
    """

    words: Mapping[Call, int]
    inputs: int
    outputs: int
    error: Callable[[int], Exception]
    kept: tuple[object, ...] = field(default=())


def session_callee(session: NativeSession, inputs: int, outputs: int, resets: bool) -> Callee:
    """A program with a session, which is emptied after each call if it `resets`.

    There are so many words in the tables of inputs and outputs.
    """
    tables = new_words(inputs), new_words(outputs)
    functions = session.functions
    words = {
        Call.FUNCTION: function_address(functions.call),
        Call.SESSION: session.address,
        Call.RESETS: int(resets),
        Call.RELEASE: function_address(functions.release),
        Call.RESET: function_address(functions.reset),
        Call.HAND_OVER: function_address(functions.hand_over),
    }
    if functions.values is not None:
        words[Call.BUILD] = function_address(functions.values.build)
        words[Call.READ] = function_address(functions.values.read)
    first, second = map(ctypes.addressof, tables)
    return Callee(words, first, second, session.error, kept=(session, *tables))
