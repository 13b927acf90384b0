"""A program with control flow or data types, built in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library import export_program
from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType, Type
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import shape_of_input
from relay_tune.runtime.interpreter_inputs import arguments_by_name
from relay_tune.runtime.interpreter_values import Value
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import load_functions

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input whose type leaves sizes open."""


class ProgramModel:
    """A native program, called with values as the interpreter takes and gives them.

    Where tensors among the inputs have symbolic dimensions, code is made for each set of shapes
    when it first comes. Calls from several threads are safe and run one after the other.

    Attributes:
        inputs: the type of each input by name, in order.
        output: the type of the result.
    """

    def __init__(
        self,
        inputs: Mapping[str, Type],
        output: Type,
        compile_for: Callable[[Mapping[str, tuple[int, ...]]], CompiledFunctions],
    ) -> None:
        self.inputs = dict(inputs)
        self.output = output
        self._open = open_inputs(inputs)
        self._compile_for = compile_for
        self._compiled: dict[Shapes, CompiledFunctions] = {}
        self._loaded: dict[Shapes, LoadedProgram] = {}
        self._lock = threading.Lock()

    @staticmethod
    def from_program(compiled: CompiledFunctions) -> ProgramModel:
        """The model of a program whose shapes are all known."""
        entry = compiled.program.entries["main"]
        return ProgramModel(entry.inputs, entry.output, lambda shapes: compiled)

    def __call__(self, *inputs: object, **named: object) -> Value:
        """The value of the program; InputError if an input does not fit, RelayError if it fails."""
        program = self._loaded.get(() if not self._open else self._shapes(inputs, named))
        if program is None:
            program = self._load(self._shapes(inputs, named))
        return program(*inputs, **named)

    def run(self, inputs: Mapping[str, object]) -> Value:
        """The value of the program for inputs by name."""
        return self(**inputs)

    def benchmark(
        self, *inputs: object, repeat: int = 30, warmup: int = 5, **named: object
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""
        return measure(lambda: self(*inputs, **named), repeat=repeat, warmup=warmup)

    def compiled(self, shapes: Shapes = ()) -> CompiledFunctions:
        """The compiled program for inputs of these shapes."""
        with self._lock:
            if shapes not in self._compiled:
                known = dict(zip(self._open, shapes, strict=True))
                self._compiled[shapes] = self._compile_for(known)
            return self._compiled[shapes]

    def export(self, path: str | Path) -> None:
        """Write a shared library, and a C header beside it, that need no Python.

        `names.so` has functions that begin with `names_`. Raises InputError where the file cannot
        be written or a shape is symbolic, BuildError where there is no linker.
        """
        if self._open:
            raise InputError(
                f"A library has fixed shapes; open here are those of {', '.join(self._open)}.",
                remedy="Build the program with fixed input shapes.",
            )
        export_program(self.compiled(), Path(path))

    def _shapes(self, inputs: tuple[object, ...], named: Mapping[str, object]) -> Shapes:
        if not self._open:
            return ()
        values = arguments_by_name(list(self.inputs), inputs, named)
        symbols: dict[Symbol, int] = {}
        return tuple(
            shape_of_input(values[name], type_, name, symbols) for name, type_ in self._open.items()
        )

    def _load(self, shapes: Shapes) -> LoadedProgram:
        compiled = self.compiled(shapes)
        with self._lock:
            if shapes not in self._loaded:
                functions = load_functions(compiled)
                self._loaded[shapes] = LoadedProgram(compiled.program, functions, compiled.threads)
            return self._loaded[shapes]


def open_inputs(inputs: Mapping[str, Type]) -> dict[str, TensorType]:
    """The tensors among the inputs whose shapes are not known before a call."""
    return {
        name: type_
        for name, type_ in inputs.items()
        if isinstance(type_, TensorType) and not all(isinstance(dim, int) for dim in type_.shape)
    }
