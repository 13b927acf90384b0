"""A network whose code is for all sizes of its inputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.runtime.interpreter_values import Value
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import load_functions


class OpenNetwork:
    """Runs a program of tensors; there is a session for each number of threads."""

    def __init__(self, compiled: CompiledFunctions) -> None:
        self.compiled = compiled
        self._sessions: dict[int, LoadedProgram] = {}

    def run(self, inputs: list[np.ndarray], threads: int) -> list[np.ndarray]:
        """The outputs in order."""
        session = self._sessions.get(threads)
        if session is None:
            functions = load_functions(self.compiled)
            session = LoadedProgram(self.compiled.program, functions, threads)
            session = self._sessions.setdefault(threads, session)
        return list(_arrays(session(*inputs)))


def _arrays(value: Value) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, np.ndarray):
        yield value
