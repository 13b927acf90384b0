"""What a candidate is measured on: inputs, constants, and the outputs that the reference gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relay_tune.errors import IndexRangeError, InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.lower import sized_tensor_types
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import Value

Array = np.ndarray[Any, Any]

SMALL_INTEGERS = {"int8": (-8, 8), "uint8": (0, 16)}
"""Ranges (upper end exclusive) of quantised data; other integers may be indices and are 0 or 1."""


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Inputs of a task, and the outputs that the reference makes of them."""

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]


@dataclass(frozen=True, eq=False, slots=True)
class MeasureInputs:
    """The data of one task.

    Attributes:
        inputs: one array for each tensor parameter, tuples flattened.
        constants: the contents of the program's constants.
        expected: one array for each output tensor; empty if outputs are not compared.
        other_bytes: what the network touches between two runs of the kernel.
        second: other inputs, for the check after timing; None for the same ones.
    """

    inputs: tuple[Array, ...]
    constants: tuple[Array, ...]
    expected: tuple[Array, ...]
    other_bytes: int = 0
    second: Sample | None = None

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """The inputs of the check before timing and of the one after it."""
        first = Sample(self.inputs, self.expected)
        return first, first if self.second is None else self.second


def measure_inputs(function: Function, constants: Sequence[Array], seed: int) -> MeasureInputs:
    """Seeded random inputs of a primitive, and what the operators' references make of them.

    Raises RelayError where the reference cannot be evaluated.
    """
    random = np.random.default_rng(seed)
    first, second = (_sample(function, random) for _ in range(2))
    return MeasureInputs(first.inputs, tuple(constants), first.expected, second=second)


def _sample(function: Function, random: np.random.Generator) -> Sample:
    try:
        arguments, result = _run(function, random, SMALL_INTEGERS, 2)
    except IndexRangeError:  # of an axis of size 1; the first index is one of every axis
        arguments, result = _run(function, random, {}, 1)
    inputs = tuple(array for argument in arguments for array in _flatten(argument))
    return Sample(inputs, tuple(_flatten(result)))


def _run(
    function: Function,
    random: np.random.Generator,
    ranges: Mapping[str, tuple[int, int]],
    highest: int,
) -> tuple[list[Value], Value]:
    """Random arguments of a primitive, integers as in `random_array`, and its result."""

    def argument(type_: Type | None) -> Value:
        if isinstance(type_, TupleType):
            return tuple(argument(field) for field in type_.fields)
        (tensor,) = sized_tensor_types(type_, "a parameter of a kernel")
        return random_array(tensor, random, ranges, highest)

    with np.errstate(all="ignore"):  # random numbers reach poles; the kernels reach the same ones
        arguments = [argument(known_type(param)) for param in function.params]
        return arguments, interpret(Module.from_function(function), *arguments)


def random_array(
    type_: TensorType,
    random: np.random.Generator,
    ranges: Mapping[str, tuple[int, int]] = SMALL_INTEGERS,
    highest: int = 2,
) -> Array:
    """A random array of a static type: normal floats, small integers that can be indices.

    Integers are in the range of their type, of 0 and above but below `highest` where it has none.
    """
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    dtype = DTYPES[type_.dtype]
    if "float" in type_.dtype:
        return random.standard_normal(shape, np.float32).astype(dtype)
    low, high = ranges.get(type_.dtype, (0, highest))
    return random.integers(low, high, shape).astype(dtype)


def _flatten(value: Value) -> list[Array]:
    match value:
        case np.ndarray():
            return [value]
        case tuple():
            return [array for part in value for array in _flatten(part)]
        case _:
            raise InputError(
                f"A kernel gave {value!r}, which is no tensor.",
                remedy=(
                    "Only primitives that give tensors are measured; tune a module, not a part "
                    "of it."
                ),
            )


def save_inputs(data: MeasureInputs, folder: Path) -> dict[str, Any]:
    """Write the arrays into `folder` as files of bytes; returns what `load_inputs` wants to know.

    InputError if there is no room for them.
    """
    groups = {"input": data.inputs, "constant": data.constants, "expected": data.expected}
    if data.second is not None:
        groups |= {"second_input": data.second.inputs, "second_expected": data.second.expected}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "folder": str(folder),
            "other_bytes": data.other_bytes,
            "arrays": {
                name: [_save(array, folder / f"{name}{n}.npy") for n, array in enumerate(arrays)]
                for name, arrays in groups.items()
            },
        }
    except OSError as error:
        raise InputError(
            f"The data of a kernel cannot be written: {error.strerror}.",
            where=str(folder),
            remedy="Make room there, or let TMPDIR name another folder.",
        ) from error


def _save(array: Array, path: Path) -> dict[str, Any]:
    np.save(path, as_bytes(array), allow_pickle=False)
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def as_bytes(array: Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of an array, in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def load_inputs(description: dict[str, Any]) -> MeasureInputs:
    """The arrays that `save_inputs` wrote, mapped from their files and not writeable."""
    folder = Path(description["folder"])
    groups = {
        name: tuple(_load(folder / f"{name}{n}.npy", item) for n, item in enumerate(items))
        for name, items in description["arrays"].items()
    }
    second = None
    if "second_input" in groups:
        second = Sample(groups["second_input"], groups["second_expected"])
    return MeasureInputs(
        groups["input"], groups["constant"], groups["expected"], description["other_bytes"], second
    )


def _load(path: Path, item: dict[str, Any]) -> Array:
    dtype, shape = DTYPES[item["dtype"]], tuple(item["shape"])
    if 0 in shape:  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    raw = np.load(path, mmap_mode="r", allow_pickle=False)
    array: Array = raw.view(dtype).reshape(shape)
    return array
