"""The interface of every program that can be called.

Networks and programs with control flow, built in this process or loaded from a library, are called
alike: `model(x)`, `model.run({"x": x})`, `model.benchmark(x)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.arguments import by_name
from relay_tune.copies import OfThisProcess
from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType, Type
from relay_tune.runtime.benchmark import BenchmarkResult, measure
from relay_tune.runtime.describe import executable_html, executable_text
from relay_tune.runtime.direct.call import DirectCall
from relay_tune.runtime.donation import donated_rows
from relay_tune.runtime.interpreter.inputs import arguments_in_order
from relay_tune.runtime.interpreter.python_values import to_python
from relay_tune.runtime.native_calls import NativeCalls
from relay_tune.runtime.node_args import NodeArg, chosen_outputs, node_args
from relay_tune.runtime.result_arrays import put, result_arrays
from relay_tune.runtime.threads import thread_count
from relay_tune.typing.type_text import type_text


class Executable(OfThisProcess, ABC):
    """A program with named inputs and outputs.

    Calls from several threads are safe. Attributes:
        inputs: the type of each input by name, in order.
        outputs: the type of each output by name, in order; the fields of a tuple each have a name.
    """

    def __init__(
        self, inputs: Mapping[str, Type], outputs: Mapping[str, Type], threads: int
    ) -> None:
        self.inputs: Mapping[str, Type] = dict(inputs)
        self.outputs: Mapping[str, Type] = dict(outputs)
        self._names = tuple(self.inputs)
        self._threads = threads
        self._shadowed = tuple(name for name in ("threads", "out") if name in self.inputs)
        self._direct: DirectCall | None = None
        self._donated: tuple[object, dict[str, int]] = ((), {})

    @property
    def threads(self) -> int:
        """How many threads a call uses; may be set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = thread_count(threads)

    def _call_directly(self, calls: NativeCalls) -> NativeCalls:
        """Have later calls try the short way of this program first; gives the program."""
        if not self._shadowed:
            self._direct = calls.first.direct
        return calls

    @abstractmethod
    def _calls_for(self, values: Sequence[object]) -> NativeCalls:
        """The native program that runs on inputs in order, which may not fit."""

    def __call__(
        self, *inputs: object, threads: int | None = None, out: object = None, **named: object
    ) -> Any:
        """The value of the program: an array, or a tuple of several; a program with data types
        gives their values.

        Inputs are numpy arrays or tensors of other libraries, by position, by name, or as one dict
        from names; `threads` is for this call. Results are new arrays, or those given as `out`, one
        or a list. An input that is called `threads` or `out` takes the keyword for itself. Raises
        InputError if an input does not fit, RelayError if the program fails.
        """
        if self._direct is not None and threads is None and out is None and not named:
            value = self._direct(inputs, self._threads)
            if value is not None:
                return value
        if self._shadowed:
            threads, out = self._unshadowed(named, threads=threads, out=out)
        values = self._in_order(inputs, named)
        count = self._count(threads)
        if out is None:
            return self._calls_for(values).value(values, count)
        arrays = self._into(values, count, out)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

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
        says for how many rows there should be room. An output that depends, element by element, on
        a donated input is that input's array, with new values, where its kernel allows that. What
        is not donated is never written.
        """
        if threads is None and out is None and not donate:
            value = self._direct_value(inputs if input_feed is None else input_feed)
            if value is not None:
                outputs = self._split(value)
                return outputs if input_feed is None else self._chosen(inputs, outputs)
        if input_feed is not None:
            outputs = self.run(input_feed, threads=threads, out=out, donate=donate)
            return self._chosen(inputs, outputs)
        values = self._in_order((), by_name(inputs, "The inputs", "{'x': array}"))
        count, rows = self._count(threads), self._rows(donate)
        if out is not None:
            return list(self._into(values, count, out))
        calls = self._calls_for(values)
        if rows:
            named = dict(zip(self._names, values, strict=True))
            return self._split(calls.value_of_donated(named, rows, count))
        return self._split(calls.value(values, count))

    def benchmark(
        self,
        *inputs: object,
        repeat: int = 30,
        warmup: int = 5,
        threads: int | None = None,
        **named: object,
    ) -> BenchmarkResult:
        """Time calls with these inputs: `warmup` of them untimed, then `repeat`."""
        values = self._in_order(inputs, named)
        calls, count = self._calls_for(values), self._count(threads)
        return measure(lambda: calls.value(values, count), repeat=repeat, warmup=warmup)

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

    def _direct_value(self, named: object) -> Any:
        """The value for a dict of exactly the inputs by the short way; None if it is not taken."""
        if self._direct is None or type(named) is not dict or len(named) != len(self._names):
            return None
        try:
            values = [named[name] for name in self._names]
        except KeyError:
            return None  # the long way says which is missing
        return self._direct(values, self._threads)

    def _count(self, threads: int | None) -> int:
        """How many threads a call uses that asks for so many."""
        return self._threads if threads is None else thread_count(threads)

    def _in_order(self, inputs: Sequence[object], named: Mapping[str, object]) -> Sequence[object]:
        """The inputs in order; InputError unless there is one value for each."""
        return arguments_in_order(self._names, inputs, named)

    def _rows(self, donate: object) -> Mapping[str, int]:
        """The rows for each donated input; those of the last call where it donated the same."""
        last, rows = self._donated
        if type(donate) in (tuple, dict) and donate == last:
            return rows
        rows = donated_rows(donate, self.inputs)
        self._donated = (dict(donate) if isinstance(donate, dict) else donate), rows
        return rows

    def _into(self, values: Sequence[object], threads: int, out: object) -> list[np.ndarray]:
        """The arrays of `out` after a run that wrote its results there, or whose were copied."""
        types = self._tensor_outputs()
        arrays = result_arrays(out, types)
        calls = self._calls_for(values)
        if not calls.fill(values, threads, arrays):
            put(self._split(calls.value(values, threads)), arrays, types)
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

    def _chosen(self, names: object, outputs: list[Any]) -> list[Any]:
        """The outputs of these names, all for None, with lists and options as Python has them."""
        found = [_listed(each) for each in outputs]
        return found if names is None else chosen_outputs(names, self.outputs, found)

    def _unshadowed(self, named: dict[str, object], **options: Any) -> tuple[int | None, object]:
        """The options, without those that are inputs of this model: they go to `named`."""
        for name in self._shadowed:
            value = options[name]
            options[name] = None
            if value is not None:
                named[name] = value
        return options["threads"], options["out"]


def _listed(output: Any) -> Any:
    """An output as ONNX Runtime gives it: a sequence, of whatever length, is a list."""
    found = to_python(output)
    return list(found) if isinstance(found, tuple) else found
