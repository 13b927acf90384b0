"""A network that grows step by step from a pool of values of all element types and odd shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.checker import ValidationError
from onnx.defs import SchemaError
from onnx.shape_inference import InferenceError

from benchmarks.fuzzing.builder import NetworkBuilder, Value

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, *SIGNED, *UNSIGNED)
CODES: dict[str, int] = {
    name: getattr(TensorProto, label)
    for name, label in zip(
        (*NUMBERS, "bool"),
        "FLOAT DOUBLE FLOAT16 BFLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 "
        "BOOL".split(),
        strict=True,
    )
}
SIZES = (1, 2, 3, 4, 5, 7, 11, 13)
LARGEST = 4000
ARITHMETIC = ("Add", "Sub", "ReduceSum")
"""Operators that are exact in float32 only."""


class Growing(NetworkBuilder):
    """A builder with a pool; `special` puts NaN and infinities into some inputs.

    Attributes:
        pool: the values so far, the newest last.
        empty: whether inputs may have axes without elements.
    """

    def __init__(self, random: np.random.Generator, opset: int) -> None:
        super().__init__(random, opset)
        self.pool: list[Value] = []
        self.empty = self.chance(0.15)
        self.special = self.chance(0.1)
        self._finite: set[str] = set()
        self._dtype = self.pick([*FLOATS, *FLOATS, *FLOATS[:1] * 4, *SIGNED, *UNSIGNED])

    def shape(self, low: int = 0, high: int = 4) -> list[int]:
        """A random shape with a rank from low through high."""
        sizes = [int(self.pick(SIZES)) for _ in range(self.integer(low, high))]
        while np.prod(sizes) > LARGEST // 4:
            sizes[int(np.argmax(sizes))] = 2
        if self.empty and sizes and self.chance(0.5):
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return sizes

    def some(
        self, dtypes: Sequence[str], low: int = 0, high: int = 5, exact: bool = False
    ) -> Value:
        """A value of one of some element types and a rank within bounds; a new input if need be."""
        fitting = [
            value
            for value in self.pool
            if value.dtype in dtypes and low <= value.rank <= high and (value.exact or not exact)
        ]
        if fitting and self.chance(0.85):
            return fitting[max(0, len(fitting) - 1 - int(self.random.exponential(1.5)))]
        dtype = self._dtype if self._dtype in dtypes else self.pick(dtypes)
        return self.fresh(dtype, self.shape(low, min(high, 4)))

    def fresh(self, dtype: str, shape: Sequence[int], limit: int = 20) -> Value:
        """A new input."""
        return self.input(shape, dtype, limit)

    def finite(self, dtype: str, shape: Sequence[int]) -> Value:
        """A new input without NaN and infinities, where nobody says what these should give."""
        value = self.fresh(dtype, shape)
        self._finite.add(value.name)
        return value

    def finite_weights(self, shape: Sequence[int], dtype: str, limit: int) -> Value:
        """A new constant without NaN and infinities."""
        kept, self.special = self.special, False
        value = self.like(shape, dtype, limit)
        self.special = kept
        return value

    def partner(self, value: Value) -> Value:
        """A value of the same type that broadcasts with `value`."""
        fitting = [y for y in self.pool if y.dtype == value.dtype and broadcasts(value, y)]
        if fitting and self.chance(0.6):
            return fitting[self.integer(0, len(fitting) - 1)]
        shape = [n if self.chance(0.6) else 1 for n in value.shape]
        return self.fresh(value.dtype, shape[self.integer(0, len(shape)) :])

    def numbers(self, shape: Sequence[int], dtype: str, limit: int = 20) -> np.ndarray:
        """Elements of an input or a constant: multiples of 1/8, or small integers."""
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
        if dtype in FLOATS:
            found = np.asarray(self.random.integers(-limit, limit + 1, shape) / 8).astype(kind)
            if self.special and self.chance(0.5) and found.size:
                index = self.integer(0, found.size - 1)
                found.reshape(-1)[index] = self.pick([np.nan, np.inf, -np.inf])
            return found
        low = -limit if dtype in SIGNED else 0
        return np.asarray(self.random.integers(low, limit + 1, shape)).astype(kind)

    def like(self, shape: Sequence[int], dtype: str, limit: int = 20) -> Value:
        """A constant."""
        return self.exact_constant(self.numbers(shape, dtype, limit))

    def add_many(
        self, operator: str, count: int, *inputs: Value | None, **attributes: Any
    ) -> list[Value]:
        """The results of a node; integers of exact values are exact, bfloat16 rounds anything."""
        found = super().add_many(operator, count, *inputs, **attributes)
        given = [value for value in inputs if value is not None]
        whole = all(value.exact and value.dtype not in FLOATS for value in given)
        rounded = operator in ARITHMETIC
        return [
            Value(
                value.name,
                value.shape,
                value.dtype,
                (value.exact or (whole and value.dtype not in FLOATS))
                and not (rounded and value.dtype in ("bfloat16", "float16")),
            )
            for value in found
        ]

    def add_shaped(
        self,
        operator: str,
        shape: Sequence[int],
        dtype: str,
        *inputs: Value | None,
        **attributes: Any,
    ) -> Value:
        """The result of a node whose shape its inputs' values decide."""
        name = self._name(operator.lower())
        names = ["" if value is None else value.name for value in inputs]
        self._nodes.append(helper.make_node(operator, names, [name], **attributes))
        self._types[name] = helper.make_tensor_type_proto(CODES[dtype], shape)
        return Value(name, tuple(shape), dtype, False)

    def mark(self) -> tuple[int, int, int]:
        """How far the graph has grown."""
        return len(self._nodes), len(self._inputs), len(self._weights)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Forget what was added since."""
        del self._nodes[mark[0] :], self._inputs[mark[1] :], self._weights[mark[2] :]

    def used_names(self) -> set[str]:
        """The values that nodes read."""
        return {name for node in self._nodes for name in node.input}

    def _feed(self, batch: int | None) -> dict[str, np.ndarray]:
        feed, special = {}, self.special
        for value, limit in self._inputs:
            self.special = special and value.name not in self._finite
            feed[value.name] = self.numbers(value.shape, value.dtype, limit)
        return feed


def tensor(array: np.ndarray) -> TensorProto:
    """An attribute."""
    return numpy_helper.from_array(array)


Step = Callable[[Growing], Value | Sequence[Value] | None]


REFUSALS = (InferenceError, SchemaError, ValidationError, ValueError)
"""What building a node raises where ONNX does not have it, or its result cannot be known."""


def broadcasts(x: Value, y: Value) -> bool:
    """Whether `y` broadcasts with `x`, without making it much larger."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs) and max(x.size, y.size) <= LARGEST


def grow(net: Growing, steps: Sequence[Step], count: int) -> None:
    """Add `count` results of random steps to the pool, and make the last ones outputs."""
    for _ in range(20 * count):
        if len(net.pool) >= count:
            break
        keep = net.mark()
        try:
            found = net.pick(steps)(net)
        except REFUSALS:
            net.rewind(keep)  # shape inference refuses the node, or does not know the result
            continue
        results: list[Any] = [] if found is None else [found] if isinstance(found, Value) else found
        if not results or any(value.size > LARGEST or value.rank > 6 for value in results):
            net.rewind(keep)
            continue
        net.pool += results
    used = net.used_names()
    ends = [value for value in net.pool if value.name not in used]
    net.outputs += ends[-6:]
