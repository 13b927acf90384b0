"""A program with control flow or data types whose machine code is in this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.runtime.call_inputs import in_order
from relay_tune.runtime.interpreter.inputs import arguments_by_name
from relay_tune.runtime.interpreter.values import Value
from relay_tune.runtime.native_session import SessionFunctions
from relay_tune.runtime.program_call import ProgramCall
from relay_tune.runtime.program_interface import ProgramInterface


class LoadedProgram(ProgramInterface):
    """A native program in memory, called with values as the interpreter takes and gives them.

    Calls from several threads are safe and run one after the other.
    """

    def __init__(
        self, program: FirstOrderProgram, functions: SessionFunctions, threads: int
    ) -> None:
        entry = program.entries["main"]
        super().__init__(entry.inputs, entry.outputs, threads)
        self._names = list(self.inputs)
        self._program = program
        self._functions = functions
        self._lock = threading.Lock()
        self._calls = {threads: ProgramCall(program, functions, threads, self._lock)}

    def calls(self, threads: int) -> ProgramCall:
        """What runs the program with so many threads; it has a heap and a stack of its own."""
        found = self._calls.get(threads)
        if found is not None:
            return found
        made = ProgramCall(self._program, self._functions, threads, self._lock)
        return self._calls.setdefault(threads, made)

    def _value(self, inputs: Sequence[object], named: Mapping[str, object], threads: int) -> Value:
        return self.calls(threads).value(self._in_order(inputs, named))

    def _in_order(self, inputs: Sequence[object], named: Mapping[str, object]) -> Sequence[object]:
        """The inputs in order; InputError unless there is one value for each."""
        if not named and len(inputs) == len(self._names):
            return inputs
        values = in_order(self._names, named) if not inputs else None
        if values is not None:
            return values
        found = arguments_by_name(self._names, inputs, named)
        return [found[name] for name in self._names]
