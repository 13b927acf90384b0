"""What every program that can be called has in common, built here or loaded from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.copies import OfThisProcess
from relay_tune.ir.types import TensorType
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.call_inputs import CallInputs, in_order
from relay_tune.runtime.describe import executable_html, executable_text
from relay_tune.runtime.node_args import NodeArg, chosen_outputs, node_args
from relay_tune.runtime.result_arrays import can_be_written_directly, put, result_arrays
from relay_tune.runtime.threads import thread_count

Direct = Callable[[Sequence[object], int], tuple[np.ndarray, ...] | None]
"""The short way of a call: the outputs for inputs in order and a number of threads; None, and
nothing was run, if an input does not fit exactly."""


class Executable(OfThisProcess, ABC):
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
        self._shadowed = tuple(name for name in ("threads", "out") if name in self.inputs)
        self._direct: Direct | None = None

    @property
    def threads(self) -> int:
        """How many threads a call uses; may be set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = thread_count(threads)

    def __call__(
        self, *inputs: object, threads: int | None = None, out: object = None, **named: object
    ) -> Any:
        """The output as an array, or a tuple of several; InputError if an input does not fit.

        Inputs are numpy arrays or tensors of other libraries, which are read where they are;
        `threads` is for this call. Results are new arrays, or those given as `out`, one or a list.
        An input that is called `threads` or `out` takes the keyword for itself.
        """
        if self._shadowed:
            threads, out = self._unshadowed(named, threads=threads, out=out)
        count = self._threads if threads is None else thread_count(threads)
        ready = self._call_inputs.bind(inputs, named) if named else inputs
        outputs = self._outputs(ready, count) if out is None else self._into(ready, count, out)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(
        self,
        inputs: Mapping[str, object] | Sequence[str] | None,
        input_feed: Mapping[str, object] | None = None,
        threads: int | None = None,
        out: object = None,
    ) -> list[np.ndarray]:
        """The outputs in order for inputs by name: `run({"x": x})`.

        Also as in ONNX Runtime: `run(None, {"x": x})` gives all outputs, `run(["y"], {"x": x})`
        those that are named. `out` is a list of an array for each output of the model.
        """
        if input_feed is not None:
            return self._chosen(inputs, self.run(input_feed, threads=threads, out=out))
        values = by_name(inputs, "The inputs", "{'x': array}")
        count = self._threads if threads is None else thread_count(threads)
        ordered = in_order(self._names, values)
        ready = self._call_inputs.bind((), values) if ordered is None else ordered
        return list(self._outputs(ready, count) if out is None else self._into(ready, count, out))

    def get_inputs(self) -> list[NodeArg]:
        """The inputs in order, each with `.name`, `.shape` and `.type` as in ONNX Runtime."""
        return node_args(self.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs in order; see `get_inputs`."""
        return node_args(self.outputs)

    def __repr__(self) -> str:
        """The types of inputs and outputs, and the threads."""
        return f"<{executable_text(type(self).__name__, self.inputs, self.outputs, self._threads)}>"

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        return executable_html(type(self).__name__, self.inputs, self.outputs, self._threads)

    def _chosen(self, names: object, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs of these names, all for None."""
        return outputs if names is None else chosen_outputs(names, self.outputs, outputs)

    def _unshadowed(self, named: dict[str, object], **options: Any) -> tuple[int | None, object]:
        """The options, without those that are inputs of this model: they go to `named`."""
        for name in self._shadowed:
            value = options[name]
            options[name] = None
            if value is not None:
                named[name] = value
        return options["threads"], options["out"]

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
