"""unique: the values of a vector without repetition.

The vector is sorted, so that equal elements stand side by side; each element then knows where the
first of its equals stood, and one walk in the order that is asked for numbers the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.merge_sort import sorted_tensors
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, cast, reduce, unary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.tensor import compute, procedure
from relay_tune.typing.relations.sorting import unique as unique_relation


@dataclass(frozen=True)
class UniqueAttributes(Attributes):
    """Attributes of unique.

    Attributes:
        is_sorted: whether values come in ascending order instead of that of their first positions.
        return_counts: whether the tuple also has how often each value occurs.
    """

    is_sorted: bool = True
    return_counts: bool = False


def _sorted_with_positions(data: Tensor) -> tuple[Tensor, Tensor]:
    ordered, positions = sorted_tensors("unique_sort", data, 0, data.shape[0], True, INDEX)
    return ordered, positions


def _begins_value(ordered: Tensor, position: Scalar) -> Scalar:
    """Whether the element at `position` differs from the one before it; a NaN is like another."""
    element, before = ordered[position], ordered[binary("max", position - 1, 0)]
    differs = binary("ne", element, before)
    if is_float(ordered.dtype):
        both = binary("and", unary("isnan", element), unary("isnan", before))
        differs = binary("and", differs, unary("not", both))
    return binary("or", binary("eq", position, 0), differs)


def _unique_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """How many values there are, for each result that has one element a value."""
    ordered, _ = _sorted_with_positions(inputs[0])
    position = Axis("k", ordered.shape[0], dtype=INDEX)
    begins = cast(_begins_value(ordered, position), INDEX)
    count = compute("count", (), lambda: reduce("sum", [position], begins))
    return [count[()]] * (3 if attributes.return_counts else 2)


def _unique_elements(attributes: Any, inputs: Any, types: Any) -> Sequence[Tensor]:
    """Values, first positions, the number of each element's value, their number, and counts."""
    (data,) = inputs
    ordered, positions = _sorted_with_positions(data)
    size = data.shape[0]

    def write(builder: LoopBuilder, *buffers: Buffer) -> None:
        source, sorted_values, order, values, first, inverse, number, counts = buffers
        leader = builder.local("leader", (size,), INDEX)
        numbers = builder.local("numbers", (size,), INDEX)
        current = builder.local("current", (), INDEX)
        found = builder.local("found", (), INDEX)
        with builder.loop("sorted", size) as step:
            with builder.when(_begins_value(sorted_values, step)):
                builder.store(current, (), order[step])
            builder.store(leader, (order[step],), current[()])
        builder.store(found, (), 0)
        with builder.loop("walk", size) as step:
            position: Scalar = order[step] if attributes.is_sorted else step
            with builder.when(binary("eq", leader[position], position)):
                builder.store(numbers, (position,), found[()])
                builder.store(values, (found[()],), source[position])
                builder.store(first, (found[()],), cast(position, first.dtype))
                builder.store(counts, (found[()],), 0)
                builder.store(found, (), found[()] + 1)
            value = numbers[leader[position]]
            builder.store(inverse, (position,), cast(value, inverse.dtype))
            builder.store(counts, (value,), counts[value] + 1)
        builder.store(number, (0,), cast(found[()], number.dtype))

    results = [(integer_shape(type_), type_.dtype) for type_ in types]
    counted = results if attributes.return_counts else [*results, (results[1][0], "int32")]
    outputs = procedure("unique", [data, ordered, positions], counted, write)
    return outputs[: len(results)]


def _unique(attributes: UniqueAttributes, data: Array) -> tuple[Array, ...]:
    values, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True
    )
    if not attributes.is_sorted:
        order = np.argsort(first)
        rank = np.argsort(order)
        values, first, inverse, counts = values[order], first[order], rank[inverse], counts[order]
    number = np.array([len(values)], np.int32)
    found = (values, first.astype(np.int32), inverse.astype(np.int32), number)
    return (*found, counts.astype(np.int32)) if attributes.return_counts else found


unique = define(
    name="unique",
    arguments=("data",),
    relation=unique_relation,
    kind=FusionKind.OPAQUE,
    attributes=UniqueAttributes,
    sizes=_unique_sizes,
    compute=_unique_elements,
    reference=_unique,
    documentation="The values of a vector without repetition, where each stood first, which "
    "one each element is, and their number.",
)
