"""A program with control flow or data types, built in this process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.errors import BuildError, InputError
from relay_tune.first_order.kinds import component_types
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import checked_array
from relay_tune.runtime.interpreter_inputs import arguments_by_name
from relay_tune.runtime.interpreter_values import Value
from relay_tune.runtime.native_session import NativeSession, SessionFunctions, load_functions
from relay_tune.runtime.value_transfer import ValueReader, ValueWriter


class ProgramModel:
    """A native program, called with values as the interpreter takes and gives them.

    Calls from several threads are safe and run one after the other.

    Attributes:
        inputs: the type of each input by name, in order.
        output: the type of the result.
    """

    def __init__(
        self, program: FirstOrderProgram, functions: SessionFunctions, threads: int
    ) -> None:
        entry = program.entries["main"]
        self.inputs: Mapping[str, Type] = dict(entry.inputs)
        self.output = entry.output
        self._program = program
        self._session = NativeSession(functions, threads)
        self._writer = ValueWriter(program, self._session)
        self._lock = threading.Lock()

    @staticmethod
    def from_program(compiled: CompiledFunctions) -> ProgramModel:
        """The model of a compiled program."""
        return ProgramModel(compiled.program, load_functions(compiled), compiled.threads)

    def __call__(self, *inputs: object, **named: object) -> Value:
        """The value of the program; InputError if an input does not fit, RelayError if it fails."""
        values = arguments_by_name(list(self.inputs), inputs, named)
        with self._lock:
            return self._call(values)

    def run(self, inputs: Mapping[str, object]) -> Value:
        """The value of the program for inputs by name."""
        return self(**inputs)

    def benchmark(
        self, *inputs: object, repeat: int = 30, warmup: int = 5, **named: object
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""
        return measure(lambda: self(*inputs, **named), repeat=repeat, warmup=warmup)

    def export(self, path: str | Path) -> None:
        """Raise BuildError: programs with control flow are not exported yet."""
        raise BuildError(f"{path} is not written: no programs with control flow are exported yet.")

    def _call(self, values: Mapping[str, object]) -> Value:
        arguments: list[int] = []
        kept: list[np.ndarray] = []
        for name, type_ in self.inputs.items():
            for part, part_type, part_name in _components(values[name], type_, name):
                if isinstance(part_type, TensorType):
                    kept.append(checked_array(part, part_type, part_name))
                    arguments.append(kept[-1].ctypes.data)
                else:
                    arguments.append(self._writer.new_object(part, part_type, part_name))
        types = list(component_types(self.output))
        results = [_Result.of(type_) for type_ in types]
        self._session.call(
            (ctypes.c_void_p * len(arguments))(*arguments),
            (ctypes.c_void_p * len(results))(*[result.array.ctypes.data for result in results]),
        )
        reader = ValueReader(self._program)
        components = [result.value(reader) for result in results]
        if self._program.has_cells:
            self._session.reset()
        else:
            self._session.release([result.address for result in results if result.is_object])
        return _assembled(self.output, iter(components))


@dataclass(frozen=True, eq=False, slots=True)
class _Result:
    """Where a component of the result is put: the elements of a tensor, or an object's address."""

    type: Type
    array: np.ndarray

    @staticmethod
    def of(type_: Type) -> _Result:
        """Room for a component of a type."""
        if not isinstance(type_, TensorType):
            return _Result(type_, np.zeros((), np.uint64))
        shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
        return _Result(type_, np.empty(shape, DTYPES[type_.dtype]))

    @property
    def is_object(self) -> bool:
        """Whether there is an object to release."""
        return not isinstance(self.type, TensorType)

    @property
    def address(self) -> int:
        """The address of the object."""
        return int(self.array)

    def value(self, reader: ValueReader) -> Value:
        """The component in Python."""
        return reader.value(self.address, self.type) if self.is_object else self.array


def _components(value: object, type_: Type, name: str) -> Iterator[tuple[object, Type, str]]:
    """The components of a value with their types and names; InputError where it is no tuple."""
    if not isinstance(type_, TupleType):
        yield value, type_, name
        return
    if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
        raise InputError(f"Input {name!r} must be a tuple of {len(type_.fields)} values.")
    for index, (part, field) in enumerate(zip(value, type_.fields, strict=True)):
        yield from _components(part, field, f"{name}.{index}")


def _assembled(type_: Type, components: Iterator[Value]) -> Value:
    """The value of a type from its components."""
    if isinstance(type_, TupleType):
        return tuple(_assembled(field, components) for field in type_.fields)
    return next(components)
