"""A program with control flow or data types, built in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from relay_tune.arguments import path_argument
from relay_tune.codegen.export import NAME_A_LIBRARY
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library import export_program
from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType, Type
from relay_tune.runtime.call_inputs import shape_of_input
from relay_tune.runtime.interpreter.inputs import arguments_by_name
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import load_functions
from relay_tune.runtime.program_interface import ProgramInterface

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input whose type leaves sizes open."""


class ProgramModel(ProgramInterface):
    """A native program, called with values as the interpreter takes and gives them.

    Where tensors among the inputs have open sizes, the code is for all sizes; `specialize` makes
    faster code for some. Calls from several threads are safe and run one after the other.

    Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name; the fields of a tuple each have a name.
    """

    def __init__(
        self,
        inputs: Mapping[str, Type],
        outputs: Mapping[str, Type],
        compile_for: Callable[[Mapping[str, tuple[int, ...]]], CompiledFunctions],
        general: CompiledFunctions | None,
    ) -> None:
        """Where there is no `general` code for all sizes, it is made for shapes that come."""
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self._open = open_inputs(inputs)
        self._compile_for = compile_for
        self._compiled: dict[Shapes, CompiledFunctions] = {}
        self._loaded: dict[Shapes, LoadedProgram] = {}
        self._general = None if general is None else _Lazy(general)
        self._lock = threading.Lock()

    def __call__(self, *inputs: object, **named: object) -> Any:
        """The value of the program; InputError if an input does not fit, RelayError if it fails."""
        return self._program(inputs, named)(*inputs, **named)

    def specialize(self, *inputs: object, **named: object) -> None:
        """Make code for the shapes of these inputs; later calls with such inputs use it."""
        if self._open:
            self._load(self._shapes(inputs, named))

    def _program(self, inputs: tuple[object, ...], named: Mapping[str, object]) -> LoadedProgram:
        """The code for these inputs: that for their shapes, or else that for all sizes."""
        if self._general is not None and not self._loaded:
            return self._general.loaded
        shapes = self._shapes(inputs, named)
        program = self._loaded.get(shapes)
        if program is not None:
            return program
        return self._load(shapes) if self._general is None else self._general.loaded

    def _run(self, inputs: Mapping[str, object]) -> Any:
        return self._program((), inputs).run(inputs)

    def compiled(self, shapes: Shapes = ()) -> CompiledFunctions:
        """The compiled program for inputs of these shapes; without shapes that for all sizes."""
        if self._general is not None and not shapes:
            return self._general.compiled
        with self._lock:
            if shapes not in self._compiled:
                known = dict(zip(self._open, shapes, strict=True))
                self._compiled[shapes] = self._compile_for(known)
            return self._compiled[shapes]

    def export(self, path: str | Path) -> None:
        """Write a shared library, and a C header beside it, that need no Python.

        `names.so` has functions that begin with `names_`. Raises InputError where the file cannot
        be written or there is no code for all sizes, BuildError for a target without such
        libraries.
        """
        if self._general is None:
            raise InputError(
                "There is no code for all sizes, and a library has no compiler; open are those of "
                f"{', '.join(self._open)}.",
                remedy="Build the program with fixed input shapes.",
            )
        export_program(self.compiled(), path_argument(path, "The library", NAME_A_LIBRARY))

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
                self._loaded[shapes] = _loaded(compiled)
            return self._loaded[shapes]


class _Lazy:
    """A compiled program that is loaded when it is first called."""

    def __init__(self, compiled: CompiledFunctions) -> None:
        self.compiled = compiled

    @cached_property
    def loaded(self) -> LoadedProgram:
        """The program in this process."""
        return _loaded(self.compiled)


def _loaded(compiled: CompiledFunctions) -> LoadedProgram:
    return LoadedProgram(compiled.program, load_functions(compiled), compiled.threads)


def open_inputs(inputs: Mapping[str, Type]) -> dict[str, TensorType]:
    """The tensors among the inputs whose shapes are not known before a call."""
    return {
        name: type_
        for name, type_ in inputs.items()
        if isinstance(type_, TensorType) and not all(isinstance(dim, int) for dim in type_.shape)
    }
