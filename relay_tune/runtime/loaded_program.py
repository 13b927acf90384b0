"""A program whose machine code is in this process."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.executable import Executable
from relay_tune.runtime.native_calls import NativeCalls
from relay_tune.runtime.native_session import SessionFunctions


class LoadedProgram(Executable):
    """A native program in memory, called with values as the interpreter takes and gives them."""

    def __init__(
        self, program: FirstOrderProgram, functions: SessionFunctions, threads: int
    ) -> None:
        entry = program.entry
        super().__init__(entry.inputs, entry.outputs, threads)
        self.calls = self._call_directly(NativeCalls(program, functions))

    def _calls_for(self, values: Sequence[object]) -> NativeCalls:
        return self.calls
