"""A program with control flow or data types, built in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from relay_tune.arguments import instance_of, path_argument, whole_number
from relay_tune.codegen.export import NAME_A_LIBRARY
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library import export_program
from relay_tune.errors import FIX_SIZES, InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType, Type
from relay_tune.runtime.benchmark import measure
from relay_tune.runtime.call_inputs import shape_of_input
from relay_tune.runtime.interpreter.inputs import arguments_by_name
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.native_session import load_functions
from relay_tune.runtime.profile import ProfileReport
from relay_tune.runtime.program_interface import ProgramInterface
from relay_tune.runtime.program_profile import program_profile
from relay_tune.runtime.program_trace import program_trace
from relay_tune.runtime.trace import Trace
from relay_tune.typing.type_text import type_text

PROFILE_RUNS = 20

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input whose type leaves sizes open."""


class ProgramModel(ProgramInterface):
    """A native program, called with values as the interpreter takes and gives them.

    Where tensors among the inputs have open sizes, the code is for all sizes; `specialize` makes
    faster code for some. Calls from several threads are safe and run one after the other.
    """

    def __init__(
        self,
        inputs: Mapping[str, Type],
        outputs: Mapping[str, Type],
        threads: int,
        compile_for: Callable[[Mapping[str, tuple[int, ...]]], CompiledFunctions],
        general: CompiledFunctions | None,
    ) -> None:
        """Where there is no `general` code for all sizes, it is made for shapes that come."""
        super().__init__(inputs, outputs, threads)
        self._open = open_inputs(inputs)
        self._compile_for = compile_for
        self._compiled: dict[Shapes, CompiledFunctions] = {}
        self._loaded: dict[Shapes, LoadedProgram] = {}
        self._general = None if general is None else _Lazy(general)
        self._lock = threading.Lock()

    def specialize(self, *inputs: object, **named: object) -> None:
        """Make code for the shapes of these inputs; later calls with such inputs use it."""
        if self._open:
            self._load(self._shapes(inputs, named))

    def _value(self, inputs: Sequence[object], named: Mapping[str, object], threads: int) -> Any:
        return self._program(inputs, named)._value(inputs, named, threads)

    def _program(self, inputs: Sequence[object], named: Mapping[str, object]) -> LoadedProgram:
        """The code for these inputs: that for their shapes, or else that for all sizes."""
        if self._general is not None and not self._loaded:
            return self._general.loaded
        shapes = self._shapes(inputs, named)
        program = self._loaded.get(shapes)
        if program is not None:
            return program
        return self._load(shapes) if self._general is None else self._general.loaded

    def compiled(self, shapes: Shapes = ()) -> CompiledFunctions:
        """The compiled program for inputs of these shapes; without shapes that for all sizes."""
        if self._general is not None and not shapes:
            return self._general.compiled
        with self._lock:
            if shapes not in self._compiled:
                known = dict(zip(self._open, shapes, strict=True))
                self._compiled[shapes] = self._compile_for(known)
            return self._compiled[shapes]

    def profile(
        self,
        *inputs: object,
        threads: int | None = None,
        limits: MachineLimits | None = None,
        **named: object,
    ) -> ProfileReport:
        """The time of each kernel for these inputs, and how near it is to the machine's limit.

        The limits, those of so many threads, are measured unless they are given.
        """
        count = self._count(threads)
        trace = self.trace(*inputs, runs=PROFILE_RUNS, threads=count, **named)
        whole = measure(
            lambda: self._value(inputs, named, count), repeat=PROFILE_RUNS, warmup=1
        ).median
        known = machine_limits(count) if limits is None else limits
        instance_of(MachineLimits, known, "limits", "Omit it to have them measured.")
        return program_profile(self._compiled_for(inputs, named), trace, whole, known)

    def trace(
        self, *inputs: object, runs: int = 5, threads: int | None = None, **named: object
    ) -> Trace:
        """When each thread ran each kernel in so many whole runs, after some warm-up.

        `json.dump(model.trace(x).to_json(), file)` writes a file that trace viewers open.
        """
        compiled = self._compiled_for(inputs, named)
        found = arguments_by_name(list(self.inputs), inputs, named)
        ordered = [found[name] for name in self.inputs]
        number = whole_number(runs, "runs", 1)
        return program_trace(compiled, ordered, self._count(threads), number)

    def _compiled_for(
        self, inputs: Sequence[object], named: Mapping[str, object]
    ) -> CompiledFunctions:
        """The code that a call with these inputs runs."""
        shapes = self._shapes(inputs, named)
        if self._general is not None and shapes not in self._loaded:
            return self._general.compiled
        return self.compiled(shapes)

    def export(self, path: str | Path) -> None:
        """Write a shared library, and a C header beside it, that need no Python.

        `names.so` has functions that begin with `names_`. Raises InputError where the file cannot
        be written or a dynamic size has to be fixed, BuildError for a target without such
        libraries.
        """
        if self._general is None:
            raise InputError(
                "The program cannot be exported with inputs of dynamic size "
                f"({_types(self._open)}): one of its operators is compiled anew for each size.",
                remedy=FIX_SIZES,
            )
        export_program(self.compiled(), path_argument(path, "The library", NAME_A_LIBRARY))

    def _shapes(self, inputs: Sequence[object], named: Mapping[str, object]) -> Shapes:
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


def _types(inputs: Mapping[str, Type]) -> str:
    return ", ".join(f"{name}: {type_text(type_)}" for name, type_ in inputs.items())
