"""Random inputs of a kernel, and the outputs that the reference gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from relay_tune.runtime.measuring.inputs import Array, MeasureInputs, Sample

SMALL_INTEGERS = {"int8": (-8, 8), "uint8": (0, 16)}
"""Ranges (upper end exclusive) of quantised data; other integers may be indices and are 0 or 1."""


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
