"""What native programs with control flow have in common, built here or loaded from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.donation import donated_rows
from relay_tune.runtime.executable import Executable
from relay_tune.runtime.interpreter.python_values import to_python
from relay_tune.runtime.result_arrays import put, result_arrays
from relay_tune.typing.type_text import type_text


class ProgramInterface(Executable, ABC):
    """A program that is called with values as the interpreter takes and gives them."""

    @abstractmethod
    def _value(self, inputs: Sequence[object], named: Mapping[str, object], threads: int) -> Any:
        """The value of the program, run with so many threads."""

    def __call__(
        self, *inputs: object, threads: int | None = None, out: object = None, **named: object
    ) -> Any:
        """The value of the program; see `Executable`."""
        if self._shadowed:
            threads, out = self._unshadowed(named, threads=threads, out=out)
        if out is None:
            return self._value(inputs, named, self._count(threads))
        arrays = self._into(inputs, named, self._count(threads), out)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def run(
        self,
        inputs: Mapping[str, object] | Sequence[str] | None,
        input_feed: Mapping[str, object] | None = None,
        threads: int | None = None,
        out: object = None,
        donate: object = (),
    ) -> list[Any]:
        """The outputs in order for inputs by name; see `Executable`."""
        if input_feed is not None:
            outputs = self.run(input_feed, threads=threads, out=out, donate=donate)
            return self._chosen(inputs, [_listed(each) for each in outputs])
        values = by_name(inputs, "The inputs", "{'x': array}")
        donated_rows(donate, self.inputs)
        if out is not None:
            return list(self._into((), values, self._count(threads), out))
        return self._split(self._value((), values, self._count(threads)))

    def benchmark(
        self,
        *inputs: object,
        repeat: int = 30,
        warmup: int = 5,
        threads: int | None = None,
        **named: object,
    ) -> BenchmarkResult:
        """Time calls with these inputs; see `Executable`."""
        count = self._count(threads)
        return measure(lambda: self._value(inputs, named, count), repeat=repeat, warmup=warmup)

    def _into(
        self, inputs: Sequence[object], named: Mapping[str, object], threads: int, out: object
    ) -> list[np.ndarray]:
        """The arrays of `out` after a run whose results were copied to them."""
        types = self._tensor_outputs()
        arrays = result_arrays(out, types)
        put(self._split(self._value(inputs, named, threads)), arrays, types)
        return arrays

    def _split(self, value: Any) -> list[Any]:
        """The outputs of a run that gave this value."""
        return [value] if len(self.outputs) == 1 else list(value)

    def _tensor_outputs(self) -> dict[str, TensorType]:
        """The types of the outputs; InputError where one is no tensor."""
        types: dict[str, TensorType] = {}
        for name, type_ in self.outputs.items():
            if not isinstance(type_, TensorType):
                raise InputError(
                    f"Output {name!r} is {type_text(type_)}, which no array can hold.",
                    remedy="Omit out=, and use the value that the call returns.",
                )
            types[name] = type_
        return types


def _listed(output: Any) -> Any:
    """An output as ONNX Runtime gives it: a sequence, of whatever length, is a list."""
    found = to_python(output)
    return list(found) if isinstance(found, tuple) else found
