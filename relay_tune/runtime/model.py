"""A model that was built in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from relay_tune.arguments import instance_of, path_argument, whole_number
from relay_tune.codegen.export import NAME_A_LIBRARY
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library import export_program
from relay_tune.errors import InputError, fix_sizes
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType, Type
from relay_tune.runtime.benchmark import measure
from relay_tune.runtime.call_inputs import shape_of_input
from relay_tune.runtime.executable import Executable
from relay_tune.runtime.freed_memory import unmap_compiler_pages
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.native_calls import NativeCalls
from relay_tune.runtime.native_session import load_functions
from relay_tune.runtime.profile import ProfileReport
from relay_tune.runtime.program_profile import program_profile
from relay_tune.runtime.program_trace import program_trace
from relay_tune.runtime.trace import Trace
from relay_tune.typing.type_text import type_text

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input whose type leaves sizes open."""

PROFILE_RUNS = 20

LARGE_CONSTANTS = 32 << 20
"""Bytes of constants from which on a model's process lets go of the compiler's pages."""


class Model(Executable):
    """A native program, called with arrays: `y = model(x)`.

    Where inputs have open sizes, the code is for all sizes; `specialize` makes faster code for
    some.
    """

    def __init__(
        self,
        inputs: Mapping[str, Type],
        outputs: Mapping[str, Type],
        threads: int,
        compile_for: Callable[[Mapping[str, tuple[int, ...]]], CompiledFunctions] | None,
        general: CompiledFunctions | None,
    ) -> None:
        """Where there is no `general` code for all sizes, it is made for shapes that come.

        A model whose inputs have fixed sizes needs no `compile_for`, which keeps the weights.
        """
        super().__init__(inputs, outputs, threads)
        self._open = open_inputs(inputs)
        self._open_indices = [self._names.index(name) for name in self._open]
        self._compile_for = compile_for
        self._general = None if general is None else _Code(general)
        self._made: dict[Shapes, _Code] = {}
        self._special: dict[Shapes, _Code] = {}
        self._lock = threading.Lock()

    def compiled(self, shapes: Shapes = ()) -> CompiledFunctions:
        """The compiled program for inputs of these shapes; without shapes that for all sizes."""
        if self._general is not None and not shapes:
            return self._general.compiled
        return self._made_for(shapes).compiled

    @property
    def workspace_bytes(self) -> int:
        """The bytes between its kernels, where all sizes are known: `memory_limit` limits them."""
        return 0 if self._general is None else self._general.compiled.workspace_bytes

    def specialize(self, *inputs: object, **named: object) -> None:
        """Make code for the shapes of these inputs; later calls with such inputs use it."""
        if self._open:
            shapes = self._checked_shapes(self._in_order(inputs, named))
            self._special[shapes] = self._made_for(shapes)
            self._direct = None

    def profile(
        self,
        *inputs: object,
        threads: int | None = None,
        limits: MachineLimits | None = None,
        **named: object,
    ) -> ProfileReport:
        """The time of each primitive for these inputs, and how near it is to the machine's limit.

        The limits, those of so many threads, are measured unless they are given.
        """
        values, count = self._in_order(inputs, named), self._count(threads)
        code = self._code_for(values)
        trace = program_trace(code.compiled, values, count, PROFILE_RUNS)
        whole = measure(lambda: code.calls.value(values, count), repeat=PROFILE_RUNS, warmup=1)
        known = machine_limits(count) if limits is None else limits
        instance_of(MachineLimits, known, "limits", "Omit it to have them measured.")
        return program_profile(code.compiled, trace, whole.median, known)

    def trace(
        self, *inputs: object, runs: int = 5, threads: int | None = None, **named: object
    ) -> Trace:
        """When each thread ran each kernel in so many whole runs, after some warm-up.

        `json.dump(model.trace(x).to_json(), file)` writes a file that trace viewers open.
        """
        values = self._in_order(inputs, named)
        number = whole_number(runs, "runs", 1)
        compiled = self._code_for(values).compiled
        return program_trace(compiled, values, self._count(threads), number)

    def repeat_seconds(self, *inputs: object, runs: int, threads: int | None = None) -> float:
        """The seconds of one of so many runs that follow each other without Python between them.

        A call from Python adds about a microsecond to the first of them.
        """
        values = self._in_order(inputs, {})
        return self._calls_for(values).repeat_seconds(values, self._count(threads), runs)

    def export(self, path: str | Path) -> None:
        """Write a shared library, and a C header beside it, that need no Python.

        `resnet18.so` has functions that begin with `resnet18_`. Raises InputError where the file
        cannot be written or a dynamic size has to be fixed, BuildError for a target without such
        libraries.
        """
        if self._general is None:
            name, type_ = next(iter(self._open.items()))
            raise InputError(
                f"The model cannot be exported with input {name!r} of dynamic size, "
                f"{type_text(type_)}: one of its operators is compiled anew for each size.",
                remedy=fix_sizes({name: type_.shape}),
            )
        export_program(self.compiled(), path_argument(path, "The library", NAME_A_LIBRARY))

    def _calls_for(self, values: Sequence[object]) -> NativeCalls:
        code = self._code_for(values)
        return code.calls if self._special else self._call_directly(code.calls)

    def _code_for(self, values: Sequence[object]) -> _Code:
        """The code for inputs: that for their shapes, or else that for all sizes."""
        if self._general is not None and not self._special:
            return self._general
        found = self._special.get(self._shapes(values))
        if found is not None:
            return found
        if self._general is not None:
            return self._general
        shapes = self._checked_shapes(values)
        code = self._special[shapes] = self._made_for(shapes)
        return code

    def _shapes(self, values: Sequence[object]) -> Shapes:
        """The shapes of inputs of open sizes that are arrays."""
        opened = [values[position] for position in self._open_indices]
        return tuple(value.shape for value in opened if isinstance(value, np.ndarray))

    def _checked_shapes(self, values: Sequence[object]) -> Shapes:
        """The shapes of inputs of open sizes; InputError where one does not fit."""
        symbols: dict[Symbol, int] = {}
        pairs = zip(self._open_indices, self._open.items(), strict=True)
        return tuple(
            shape_of_input(values[position], type_, name, symbols)
            for position, (name, type_) in pairs
        )

    def _made_for(self, shapes: Shapes) -> _Code:
        with self._lock:
            if shapes not in self._made:
                assert self._compile_for is not None, "the code for all sizes serves fixed ones"
                known = dict(zip(self._open, shapes, strict=True))
                self._made[shapes] = _Code(self._compile_for(known))
            return self._made[shapes]


class _Code:
    """A compiled program that is loaded when it is first called."""

    def __init__(self, compiled: CompiledFunctions) -> None:
        self.compiled = compiled

    @cached_property
    def calls(self) -> NativeCalls:
        """The program in this process."""
        calls = NativeCalls(self.compiled.program, load_functions(self.compiled))
        if self.compiled.constants.size >= LARGE_CONSTANTS:
            unmap_compiler_pages()
        return calls


def open_inputs(inputs: Mapping[str, Type]) -> dict[str, TensorType]:
    """The tensors among the inputs whose shapes are not known before a call."""
    return {
        name: type_
        for name, type_ in inputs.items()
        if isinstance(type_, TensorType) and not all(isinstance(dim, int) for dim in type_.shape)
    }
