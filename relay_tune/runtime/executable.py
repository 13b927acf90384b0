"""What every program that can be called has in common, built here or loaded from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.ir.types import TensorType
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import CallInputs
from relay_tune.runtime.direct_call import DirectCall
from relay_tune.runtime.threads import thread_count


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
        self._direct: DirectCall | None = None

    @property
    def threads(self) -> int:
        """How many threads a call uses; may be set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = thread_count(threads)

    def __call__(self, *inputs: object, **named: object) -> np.ndarray | tuple[np.ndarray, ...]:
        """The output, or a tuple of several, in new arrays; InputError if an input does not fit."""
        direct = self._direct
        outputs = None if direct is None or named else direct(inputs, self._threads)
        if outputs is None:
            outputs = self._execute(self._call_inputs.bind(inputs, named), self._threads)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(self, inputs: Mapping[str, object], threads: int | None = None) -> list[np.ndarray]:
        """The outputs in order for inputs by name."""
        values = by_name(inputs, "The inputs", "{'x': array}")
        count = self._threads if threads is None else thread_count(threads)
        direct = self._direct
        outputs = None if direct is None else direct.by_name(inputs, count)
        if outputs is None:
            outputs = self._execute(self._call_inputs.bind((), values), count)
        return outputs

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
        return measure(lambda: self._execute(arrays, count), repeat=repeat, warmup=warmup)

    @abstractmethod
    def _execute(self, inputs: list[np.ndarray], threads: int) -> list[np.ndarray]:
        """The outputs for inputs that were checked."""
