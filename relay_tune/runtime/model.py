"""A model that was built in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from relay_tune.arguments import instance_of, path_argument, whole_number
from relay_tune.codegen.compiled_program import CompiledProgram
from relay_tune.codegen.export import NAME_A_LIBRARY, export_library
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library import export_program
from relay_tune.errors import InputError, fix_sizes
from relay_tune.ir.types import TensorType
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.native_program import NativeProgram
from relay_tune.runtime.network_executable import NetworkExecutable
from relay_tune.runtime.open_network import OpenNetwork
from relay_tune.runtime.profile import ProfileReport, profile_report
from relay_tune.runtime.program_trace import program_trace
from relay_tune.runtime.threads import thread_count
from relay_tune.runtime.trace import Trace
from relay_tune.typing.type_text import type_text

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input."""

PROFILE_RUNS = 20


class Model(NetworkExecutable):
    """A native program, called with arrays: `y = model(x)`.

    Where inputs have open sizes, the code is for all sizes; `specialize` makes faster code for
    some. Calls from several threads are safe and run one after the other.
    """

    def __init__(
        self,
        inputs: Mapping[str, TensorType],
        outputs: Mapping[str, TensorType],
        threads: int,
        compile_for: Callable[[Shapes], CompiledProgram],
        general: CompiledFunctions | None = None,
    ) -> None:
        """Without `general` code for all sizes, it is made for shapes when they first come."""
        super().__init__(inputs, outputs, threads)
        self._general = None if general is None else OpenNetwork(general)
        self._compile_for = compile_for
        self._programs: dict[Shapes, NativeProgram] = {}
        self._compiled: dict[Shapes, CompiledProgram] = {}
        self._lock = threading.Lock()
        if self._general is not None:
            self._direct = self._general.run_directly

    @staticmethod
    def from_program(program: CompiledProgram) -> Model:
        """The model of one compiled program."""
        return Model(program.inputs, program.outputs, program.threads, lambda shapes: program)

    def program(self, shapes: Shapes) -> CompiledProgram:
        """The compiled program for inputs of these shapes."""
        with self._lock:
            if shapes not in self._compiled:
                self._compiled[shapes] = self._compile_for(shapes)
            return self._compiled[shapes]

    def specialize(self, *inputs: object, **named: object) -> None:
        """Make code for the shapes of these inputs; later calls with such inputs use it."""
        arrays = self._call_inputs.bind(inputs, named)
        self._native(tuple(array.shape for array in arrays))

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
        count = self._threads if threads is None else thread_count(threads)
        arrays = self._call_inputs.bind(inputs, named)
        shapes = tuple(array.shape for array in arrays)
        known = machine_limits(count) if limits is None else limits
        instance_of(MachineLimits, known, "limits", "Omit it to have them measured.")
        if self._general is not None and shapes not in self._programs:
            return self._general.profile(arrays, count, PROFILE_RUNS, known)
        times = self._native(shapes).step_seconds(arrays, count, PROFILE_RUNS)
        return profile_report(self.program(shapes).steps, times, known)

    def trace(
        self, *inputs: object, runs: int = 5, threads: int | None = None, **named: object
    ) -> Trace:
        """When each thread ran each kernel in so many whole runs, after some warm-up.

        `json.dump(model.trace(x).to_json(), file)` writes a file that trace viewers open.
        """
        count = self._threads if threads is None else thread_count(threads)
        arrays = self._call_inputs.bind(inputs, named)
        shapes = tuple(array.shape for array in arrays)
        number = whole_number(runs, "runs", 1)
        if self._general is not None and shapes not in self._programs:
            return program_trace(self._general.compiled, arrays, count, number)
        return self._native(shapes).trace(arrays, count, number)

    def repeat_seconds(self, *inputs: object, runs: int, threads: int | None = None) -> float:
        """The seconds of one of so many runs that follow each other without Python between them.

        A call from Python adds about a microsecond to the first of them.
        """
        count = self._threads if threads is None else thread_count(threads)
        arrays = self._call_inputs.bind(inputs, {})
        native = self._native(tuple(array.shape for array in arrays))
        return native.repeat_seconds(arrays, count, runs)

    def export(self, path: str | Path) -> None:
        """Write a shared library, and a C header beside it, that need no Python.

        `resnet18.so` has functions that begin with `resnet18_`. Raises InputError where the file
        cannot be written or a dynamic size has to be fixed, BuildError for a target without such
        libraries.
        """
        if self._general is not None:
            export_program(
                self._general.compiled,
                path_argument(path, "The library", NAME_A_LIBRARY),
            )
            return
        for name, type_ in self.inputs.items():
            if not all(isinstance(dim, int) for dim in type_.shape):
                raise InputError(
                    f"The model cannot be exported with input {name!r} of dynamic size, "
                    f"{type_text(type_)}: one of its operators is compiled anew for each size.",
                    remedy=fix_sizes({name: type_.shape}),
                )
        shapes = tuple(tuple(int(str(dim)) for dim in t.shape) for t in self.inputs.values())
        export_library(self.program(shapes), path_argument(path, "The library", NAME_A_LIBRARY))

    def _donating(
        self, values: Mapping[str, object], rows: Mapping[str, int], threads: int
    ) -> Sequence[np.ndarray]:
        if self._general is None or self._programs:
            return super()._donating(values, rows, threads)
        return self._general.run_donated(
            values, rows, threads, lambda given: self._call_inputs.bind((), given)
        )

    def _execute(self, inputs: list[np.ndarray], threads: int) -> list[np.ndarray]:
        shapes = tuple(array.shape for array in inputs)
        program = self._programs.get(shapes)
        if program is not None:
            return program.run(inputs, threads)
        if self._general is not None:
            return self._general.run(inputs, threads)
        return self._native(shapes).run(inputs, threads)

    def _execute_into(
        self, inputs: list[np.ndarray], threads: int, outputs: list[np.ndarray]
    ) -> None:
        shapes = tuple(array.shape for array in inputs)
        program = self._programs.get(shapes)
        if program is None and self._general is None:
            program = self._native(shapes)
        if program is None or not program.makes(outputs):
            super()._execute_into(inputs, threads, outputs)
        else:
            program.run_into(inputs, threads, outputs)

    def _native(self, shapes: Shapes) -> NativeProgram:
        compiled = self.program(shapes)
        with self._lock:
            if shapes not in self._programs:
                program = self._programs[shapes] = NativeProgram(compiled)
                is_only = shapes == tuple(type_.shape for type_ in self.inputs.values())
                self._direct = program.direct if is_only else self._directly_by_shapes
            return self._programs[shapes]

    def _directly_by_shapes(
        self, inputs: Sequence[object], threads: int
    ) -> tuple[np.ndarray, ...] | None:
        """The short way of code for these shapes, or else of that for all sizes."""
        shapes = tuple(value.shape for value in inputs if type(value) is np.ndarray)
        program = self._programs.get(shapes)
        if program is not None:
            return None if program.direct is None else program.direct(inputs, threads)
        return None if self._general is None else self._general.run_directly(inputs, threads)
