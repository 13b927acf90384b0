"""The short way of a call: from arguments that fit into native code, with little of Python on it.

A program that reads more weights than the near caches hold leaves nothing of Python in them. Each
object that a call touches then comes from far away. So one native function reads the arguments,
runs the program, and makes its result. Arguments that do not fit exactly are refused, and take the
long way, which converts them or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from relay_tune.codegen.direct.direct_call import DIRECT_CALL, DIRECT_RESULTS, NO_INPUT_MEMORY
from relay_tune.codegen.direct.make_results import NO_RESULT_ROOM
from relay_tune.codegen.direct.read_arguments import NO_ROOM
from relay_tune.codegen.direct.words import Call
from relay_tune.ir.types import Type
from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.direct.arguments import Arguments, can_read
from relay_tune.runtime.direct.callee import Callee
from relay_tune.runtime.direct.code import METH_FASTCALL, METH_NOARGS, NativeMethod, new_words
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.direct.results import Results, can_make


class DirectCall:
    """Calls one program with arguments of exactly its types.

    `inputs` are the types of the arguments by name, `output` is that of the result; where there are
    values of data types, `program` says how they lie in memory. `lock` is held by every user of the
    session.
    """

    def __init__(
        self,
        inputs: Mapping[str, Type],
        output: Type,
        callee: Callee,
        lock: Lock,
        program: FirstOrderProgram | None = None,
    ) -> None:
        self._callee = callee
        self._lock = lock
        self._words = new_words(len(Call))
        for word, value in callee.words.items():
            self._words[word] = value
        self._words[Call.INPUTS] = callee.inputs
        self._words[Call.OUTPUTS] = callee.outputs
        types = list(inputs.values())
        self._arguments = Arguments(self._words, types, program, callee.inputs)
        self._results = Results(self._words, output, program, callee.outputs)
        self._method = NativeMethod(DIRECT_CALL.name, METH_FASTCALL, self._words)
        self._finish = NativeMethod(DIRECT_RESULTS.name, METH_NOARGS, self._words)
        self._call = self._method.call

    def __call__(self, inputs: Sequence[object], threads: int) -> Any:
        """The result; None, and nothing was run, if the inputs do not fit or the session is taken.

        Raises what the program does.
        """
        if not self._lock.acquire(False):
            return None
        try:
            found = self._call(*inputs, threads)
            if found.__class__ is int:
                return self._with_more_room(found, inputs, threads)
            return found
        finally:
            self._lock.release()

    def _with_more_room(self, found: Any, inputs: Sequence[object], threads: int) -> Any:
        """The result after a call that ended with a number."""
        while found.__class__ is int:
            match found:
                case _ if found == NO_ROOM:
                    self._arguments.make_more_room()
                    found = self._call(*inputs, threads)
                case _ if found == NO_RESULT_ROOM:
                    self._results.make_more_room()
                    found = self._finish.call()
                case _ if found == NO_INPUT_MEMORY:
                    raise MemoryError("There is no memory for an input of the program.")
                case _:
                    raise self._callee.error(found)
        self._arguments.give_room_back()
        self._results.give_room_back()
        return found


def direct_call(
    inputs: Mapping[str, Type],
    output: Type,
    callee: Callable[[], Callee],
    lock: Lock,
    program: FirstOrderProgram | None = None,
) -> DirectCall | None:
    """The direct call of what `callee` gives; None if its types, or this Python, have none."""
    types_fit = all(can_read(type_, program) for type_ in inputs.values())
    if not (types_fit and can_make(output, program) and can_call_directly()):
        return None
    return DirectCall(inputs, output, callee(), lock, program)
