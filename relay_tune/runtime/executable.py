"""What every program that can be called offers, whatever it is and wherever it comes from.

Networks and programs with control flow, built in this process or loaded from a library, are called
alike: `model(x)`, `model.run({"x": x})`, `model.benchmark(x)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from relay_tune.copies import OfThisProcess
from relay_tune.ir.types import Type
from relay_tune.runtime.benchmark import BenchmarkResult
from relay_tune.runtime.describe import executable_html, executable_text
from relay_tune.runtime.node_args import NodeArg, chosen_outputs, node_args
from relay_tune.runtime.threads import thread_count


class Executable(OfThisProcess, ABC):
    """A program with named inputs and outputs.

    Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name, in order; the fields of a tuple each have a name.
    """

    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]

    def __init__(
        self, inputs: Mapping[str, Type], outputs: Mapping[str, Type], threads: int
    ) -> None:
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self._threads = threads
        self._shadowed = tuple(name for name in ("threads", "out") if name in self.inputs)

    @property
    def threads(self) -> int:
        """How many threads a call uses; may be set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = thread_count(threads)

    @abstractmethod
    def __call__(
        self, *inputs: object, threads: int | None = None, out: object = None, **named: object
    ) -> Any:
        """The value of the program: an array, or a tuple of several; a program with data types
        gives their values.

        Inputs are numpy arrays or tensors of other libraries, by position or by name; `threads` is
        for this call. Results are new arrays, or those given as `out`, one or a list. An input that
        is called `threads` or `out` takes the keyword for itself. Raises InputError if an input
        does not fit, RelayError if the program fails.
        """

    @abstractmethod
    def run(
        self,
        inputs: Mapping[str, object] | Sequence[str] | None,
        input_feed: Mapping[str, object] | None = None,
        threads: int | None = None,
        out: object = None,
        donate: object = (),
    ) -> list[Any]:
        """The outputs in order, always as a list, for inputs by name: `run({"x": x})`.

        Also as in ONNX Runtime: `run(None, {"x": x})` gives all outputs, `run(["y"], {"x": x})`
        those that are named, lists of the prelude as lists and options as None or their value.
        `out` is a list of an array for each output.

        `donate` names inputs whose arrays are not used after the call, so that results may take
        their memory: an output that is a donated input with more rows behind it is an array with
        room for more, and donating that one in turn writes the new rows alone. `{"cache": 1024}`
        says for how many rows there should be room. What is not donated is never written.
        """

    @abstractmethod
    def benchmark(
        self,
        *inputs: object,
        repeat: int = 30,
        warmup: int = 5,
        threads: int | None = None,
        **named: object,
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""

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

    def _count(self, threads: int | None) -> int:
        """How many threads a call uses that asks for so many."""
        return self._threads if threads is None else thread_count(threads)

    def _chosen(self, names: object, outputs: list[Any]) -> list[Any]:
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
