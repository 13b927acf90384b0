"""What networks have in common, built here or loaded from a file: tensors in, tensors out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.ir.types import TensorType
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import CallInputs, in_order
from relay_tune.runtime.donation import donated_rows
from relay_tune.runtime.executable import Executable
from relay_tune.runtime.result_arrays import can_be_written_directly, put, result_arrays

Direct = Callable[[Sequence[object], int], tuple[np.ndarray, ...] | None]
"""The short way of a call: the outputs for inputs in order and a number of threads; None, and
nothing was run, if an input does not fit exactly."""


class NetworkExecutable(Executable, ABC):
    """A program whose inputs and outputs are tensors.

    Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name, in order.
    """

    inputs: dict[str, TensorType]
    outputs: dict[str, TensorType]

    def __init__(
        self, inputs: Mapping[str, TensorType], outputs: Mapping[str, TensorType], threads: int
    ) -> None:
        super().__init__(inputs, outputs, threads)
        self._call_inputs = CallInputs(self.inputs)
        self._names = tuple(self.inputs)
        self._direct: Direct | None = None

    def __call__(
        self, *inputs: object, threads: int | None = None, out: object = None, **named: object
    ) -> Any:
        """The output as an array, or a tuple of several; see `Executable`.

        Inputs are read where they are.
        """
        if self._shadowed:
            threads, out = self._unshadowed(named, threads=threads, out=out)
        count = self._count(threads)
        ready = self._call_inputs.bind(inputs, named) if named else inputs
        outputs = self._outputs(ready, count) if out is None else self._into(ready, count, out)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(
        self,
        inputs: Mapping[str, object] | Sequence[str] | None,
        input_feed: Mapping[str, object] | None = None,
        threads: int | None = None,
        out: object = None,
        donate: object = (),
    ) -> list[np.ndarray]:
        """The outputs in order for inputs by name; see `Executable`."""
        if input_feed is not None:
            found = self.run(input_feed, threads=threads, out=out, donate=donate)
            return self._chosen(inputs, found)
        values = by_name(inputs, "The inputs", "{'x': array}")
        count = self._count(threads)
        donated = donated_rows(donate, self.inputs)
        if donated and out is None:
            return list(self._donating(values, donated, count))
        ordered = in_order(self._names, values)
        ready = self._call_inputs.bind((), values) if ordered is None else ordered
        return list(self._outputs(ready, count) if out is None else self._into(ready, count, out))

    def _donating(
        self, values: Mapping[str, object], rows: Mapping[str, int], threads: int
    ) -> Sequence[np.ndarray]:
        """The outputs; inputs may become outputs, with room for so many rows."""
        return self._outputs(self._call_inputs.bind((), values), threads)

    def _into(self, inputs: Sequence[object], threads: int, out: object) -> list[np.ndarray]:
        """The arrays of `out` after a run that filled them."""
        arrays = result_arrays(out, self.outputs)
        ready = self._call_inputs.bind(inputs, {})
        if can_be_written_directly(arrays, ready):
            self._execute_into(ready, threads, arrays)
        else:
            put(self._execute(ready, threads), arrays, self.outputs)
        return arrays

    def _execute_into(
        self, inputs: list[np.ndarray], threads: int, outputs: list[np.ndarray]
    ) -> None:
        """Fill arrays of the right types, which the program may write while it reads the inputs."""
        put(self._execute(inputs, threads), outputs, self.outputs)

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
        arrays = self._call_inputs.bind(inputs, named)
        return measure(lambda: self._outputs(arrays, count), repeat=repeat, warmup=warmup)

    def _outputs(self, inputs: Sequence[object], threads: int) -> Sequence[np.ndarray]:
        """The outputs for inputs in order: by the short way, or else by the long one."""
        outputs = None if self._direct is None else self._direct(inputs, threads)
        if outputs is None:
            return self._execute(self._call_inputs.bind(inputs, {}), threads)
        return outputs

    @abstractmethod
    def _execute(self, inputs: list[np.ndarray], threads: int) -> list[np.ndarray]:
        """The outputs for inputs that were checked."""
