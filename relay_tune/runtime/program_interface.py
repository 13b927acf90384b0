"""What native programs with control flow have in common, built here or loaded from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from relay_tune.arguments import by_name
from relay_tune.copies import OfThisProcess
from relay_tune.errors import BuildError
from relay_tune.ir.types import Type
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.describe import executable_html, executable_text
from relay_tune.runtime.node_args import NodeArg, chosen_outputs, node_args


class ProgramInterface(OfThisProcess, ABC):
    """A program that is called with values as the interpreter takes and gives them.

    Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name; the fields of a tuple each have a name.
    """

    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]

    @abstractmethod
    def __call__(self, *inputs: object, **named: object) -> Any:
        """The value of the program; InputError if an input does not fit, RelayError if it fails."""

    @abstractmethod
    def _run(self, inputs: Mapping[str, object]) -> Any:
        """The value of the program for inputs by name."""

    def run(
        self,
        inputs: Mapping[str, object] | Sequence[str] | None,
        input_feed: Mapping[str, object] | None = None,
    ) -> Any:
        """The value of the program for inputs by name: `run({"x": x})`.

        As in ONNX Runtime, `run(None, {"x": x})` gives a list of all outputs, and
        `run(["y"], {"x": x})` one of those that are named.
        """
        if input_feed is None:
            return self._run(by_name(inputs, "The inputs", "{'x': array}"))
        value = self._run(by_name(input_feed, "The inputs", "{'x': array}"))
        outputs = list(value) if isinstance(value, tuple) else [value]
        return outputs if inputs is None else chosen_outputs(inputs, self.outputs, outputs)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs in order, each with `.name`, `.shape` and `.type` as in ONNX Runtime."""
        return node_args(self.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs in order; see `get_inputs`."""
        return node_args(self.outputs)

    def benchmark(
        self, *inputs: object, repeat: int = 30, warmup: int = 5, **named: object
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""
        return measure(lambda: self(*inputs, **named), repeat=repeat, warmup=warmup)

    def profile(self, *inputs: object, **named: object) -> NoReturn:
        """Raise BuildError: only networks of operators have a profile."""
        raise _no_profile()

    def trace(self, *inputs: object, **named: object) -> NoReturn:
        """Raise BuildError: only networks of operators have a timeline."""
        raise _no_profile()

    def __repr__(self) -> str:
        """The types of inputs and outputs."""
        return f"<{executable_text(type(self).__name__, self.inputs, self.outputs)}>"

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        return executable_html(type(self).__name__, self.inputs, self.outputs)


def _no_profile() -> BuildError:
    return BuildError(
        "Profiles are made of networks; this program has control flow or data types.",
        remedy="tune bench, or model.benchmark(..) in Python, measures it as a whole.",
    )
