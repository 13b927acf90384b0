"""What every program that can be called has in common, built here or loaded from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.ir.types import TensorType
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import CallInputs, in_order
from relay_tune.runtime.threads import thread_count

Direct = Callable[[Sequence[object], int], tuple[np.ndarray, ...] | None]
"""The short way of a call: the outputs for inputs in order and a number of threads; None, and
nothing was run, if an input does not fit exactly."""


class Executable(ABC):
    """A program with named inputs and outputs.

    Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name, in order.
    """

    def __init__(
        self, inputs: Mapping[str, TensorType], outputs: Mapping[str, TensorType], threads: int
    ) -> None:
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self._threads = threads
        self._call_inputs = CallInputs(self.inputs)
        self._names = tuple(self.inputs)
        self._direct: Direct | None = None

    @property
    def threads(self) -> int:
        """How many threads a call uses; may be set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = thread_count(threads)

    def __call__(self, *inputs: object, **named: object) -> np.ndarray | tuple[np.ndarray, ...]:
        """The output, or a tuple of several, in new arrays; InputError if an input does not fit."""
        ready = self._call_inputs.bind(inputs, named) if named else inputs
        outputs = self._outputs(ready, self._threads)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(self, inputs: Mapping[str, object], threads: int | None = None) -> list[np.ndarray]:
        """The outputs in order for inputs by name."""
        values = by_name(inputs, "The inputs", "{'x': array}")
        count = self._threads if threads is None else thread_count(threads)
        ordered = in_order(self._names, values)
        if ordered is None:
            return self._execute(self._call_inputs.bind((), values), count)
        return list(self._outputs(ordered, count))

    def benchmark(
        self,
        *inputs: object,
        repeat: int = 30,
        warmup: int = 5,
        threads: int | None = None,
        **named: object,
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""
        count = self._threads if threads is None else thread_count(threads)
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
