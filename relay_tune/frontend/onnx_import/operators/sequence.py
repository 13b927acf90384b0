"""Sequences of ONNX, as tuples: their length is known when the model is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    known_array,
    known_integer,
    rank_of,
    shape_of,
    static_dim,
    type_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr, Tuple
from relay_tune.ir.types import TupleType

MAXIMUM_LENGTH = 4096


def _fields(build: Builder, sequence: Expr) -> list[Expr]:
    """The elements of a sequence."""
    type_ = type_of(sequence)
    if not isinstance(type_, TupleType):
        raise ModelError("expects a sequence, but found a tensor.")
    return [build.item(sequence, place) for place in range(len(type_.fields))]


def _place(position: Expr, length: int) -> int:
    """A known position, counted from the front."""
    place = known_integer(position, "the position")
    if not -length <= place < length:
        raise ModelError(f"position {place} is out of range for a sequence of {length} elements.")
    return place % length


def _joined(build: Builder, fields: Sequence[Expr]) -> Tuple:
    if len(fields) > MAXIMUM_LENGTH:
        raise ModelError(f"a sequence of {len(fields)} elements is too long.")
    return build.tuple_of(fields)


def translate_construct(node: OnnxNode, build: Builder) -> Expr:
    """A sequence of given elements."""
    return _joined(build, node.all_inputs())


def translate_empty(node: OnnxNode, build: Builder) -> Expr:
    """A sequence without elements."""
    return build.tuple_of(())


def translate_at(node: OnnxNode, build: Builder) -> Expr:
    """One element."""
    fields = _fields(build, node.input(0))
    return fields[_place(node.input(1), len(fields))]


def translate_length(node: OnnxNode, build: Builder) -> Expr:
    """The number of elements."""
    return build.constant(len(_fields(build, node.input(0))), "int64")


def translate_insert(node: OnnxNode, build: Builder) -> Expr:
    """With one more element, at the end or before a position."""
    fields = _fields(build, node.input(0))
    position = node.optional(2)
    place = len(fields)
    if position is not None and known_integer(position, "the position") != place:
        place = _place(position, len(fields))
    return _joined(build, [*fields[:place], node.input(1), *fields[place:]])


def translate_erase(node: OnnxNode, build: Builder) -> Expr:
    """Without one element, the last or that at a position."""
    fields = _fields(build, node.input(0))
    position = node.optional(1)
    if not fields:
        raise ModelError("an empty sequence has no element to erase.")
    place = len(fields) - 1 if position is None else _place(position, len(fields))
    return _joined(build, fields[:place] + fields[place + 1 :])


def translate_concat(node: OnnxNode, build: Builder) -> Expr:
    """All elements one after another, or stacked along a new axis."""
    fields = _fields(build, node.input(0))
    if not fields:
        raise ModelError("an empty sequence cannot be joined.")
    new_axis = node.flag("new_axis", 0)
    axis = checked_axis(node.integer("axis"), rank_of(fields[0]) + new_axis)
    return build.call("stack" if new_axis else "concatenate", build.tuple_of(fields), axis=axis)


def translate_split(node: OnnxNode, build: Builder) -> Expr:
    """Parts along an axis: of a given size, of given sizes, or single slices."""
    data, split = node.input(0), node.optional(1)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    size = static_dim(shape_of(data)[axis])
    bounds = _bounds(split, size)
    if len(bounds) > MAXIMUM_LENGTH:
        raise ModelError(f"a sequence of {len(bounds)} elements is too long.")
    parts: list[Expr] = [
        build.call("strided_slice", data, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))
        for begin, end in bounds
    ]
    if split is None and not node.flag("keepdims", 1):
        parts = [build.call("squeeze", part, axis=(axis,)) for part in parts]
    return build.tuple_of(parts)


def _bounds(split: Expr | None, size: int) -> list[tuple[int, int]]:
    """Where the parts begin and end."""
    if split is None:
        return [(place, place + 1) for place in range(min(size, MAXIMUM_LENGTH + 1))]
    sizes = known_array(split, "the input split")
    if sizes.ndim == 0:
        step = int(sizes)
        if step < 1 or size // step > MAXIMUM_LENGTH:
            raise ModelError(f"an axis of size {size} is not split into parts of {step}.")
        return [(begin, min(begin + step, size)) for begin in range(0, size, step)]
    if sizes.ndim != 1 or (sizes < 0).any() or sizes.sum() != size:
        raise ModelError(f"the sizes {sizes.tolist()} do not add up to {size}.")
    ends = sizes.cumsum().tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


SEQUENCES: Mapping[str, Translator] = {
    "SequenceConstruct": translate_construct,
    "SequenceEmpty": translate_empty,
    "SequenceAt": translate_at,
    "SequenceLength": translate_length,
    "SequenceInsert": translate_insert,
    "SequenceErase": translate_erase,
    "ConcatFromSequence": translate_concat,
    "SplitToSequence": translate_split,
}
