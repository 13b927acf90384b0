"""`value[...]`: projections of tuples, elements of lists, parts of tensors.

The entries between the brackets are data:

    ("at", i)                        the element i, i known when the function is translated
    ("given", n)                     the element that the n-th index says when the program runs
    ("slice", start, stop, step)     as in Python, each an integer or None
    ("new",)                         None: a new axis of size 1
    ("rest",)                        ...: all axes that no other entry names
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Call, Expr, GlobalVar, TupleGetItem, constant
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, TupleType, Type, TypeCall
from relay_tune.op.indexing import take
from relay_tune.op.shape import expand_dims
from relay_tune.op.slicing import strided_slice
from relay_tune.typing.type_text import type_text

Entry = tuple[Any, ...]
EVERYTHING = ("slice", None, None, None)


def index_meaning(attributes: Any, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """What `value[entries]` is for a value of the first type; RelationError if it has no parts."""
    value, *indices = arguments
    entries = attributes.items
    match types[0]:
        case TupleType(fields):
            return TupleGetItem(value, _field(entries, len(fields), types[0]))
        case TypeCall():
            return Call(GlobalVar("nth"), (value, _element(entries, indices)))
        case TensorType(shape):
            return _tensor_part(value, _one_per_axis(entries, len(shape), types[0]), indices)
    raise RelationError(f"a value of type {type_text(types[0])} has no parts")


def _field(entries: Sequence[Entry], size: int, type_: Type) -> int:
    match entries:
        case [("at", int(index))] if -size <= index < size:
            return index % size
        case [("at", int(index))]:
            raise RelationError(f"{type_text(type_)} has no field {index}")
    raise RelationError("the index of a tuple must be a number that is written in the program")


def _element(entries: Sequence[Entry], indices: Sequence[Expr]) -> Expr:
    match entries:
        case [("at", int(index))] if index >= 0:
            return constant(index)
        case [("given", int(place))]:
            return indices[place]
    raise RelationError("a list is indexed by one number from 0 on; it has no slices")


def _one_per_axis(entries: Sequence[Entry], rank: int, type_: Type) -> list[Entry]:
    """The entries with `...` and what is missing at the end written out."""
    named = sum(1 for entry in entries if entry[0] not in ("new", "rest"))
    if named > rank:
        raise RelationError(f"{named} indices are too many for {type_text(type_)}")
    missing = [EVERYTHING] * (rank - named)
    if ("rest",) not in entries:
        return [*entries, *missing]
    place = list(entries).index(("rest",))
    return [*entries[:place], *missing, *entries[place + 1 :]]


def _tensor_part(value: Expr, entries: Sequence[Entry], indices: Sequence[Expr]) -> Expr:
    axes = [entry for entry in entries if entry[0] != "new"]
    slices = {
        axis: entry
        for axis, entry in enumerate(axes)
        if entry[0] == "slice" and entry != EVERYTHING
    }
    if slices:
        value = _sliced(value, slices)
    for axis in reversed(range(len(axes))):
        match axes[axis]:
            case ("at", index):
                value = take(value, constant(index), axis=axis, mode="raise")
            case ("given", place):
                value = take(value, indices[place], axis=axis, mode="raise")
    kept = [entry for entry in entries if entry[0] in ("new", "slice")]
    for place, entry in enumerate(kept):
        if entry[0] == "new":
            value = expand_dims(value, axis=place)
    return value


_FAR = 2**31 - 1


def _sliced(value: Expr, slices: dict[int, Entry]) -> Expr:
    begin, end, strides = [], [], []
    for _, start, stop, step in slices.values():
        step = 1 if step is None else step
        begin.append(start if start is not None else (0 if step > 0 else _FAR))
        end.append(stop if stop is not None else (_FAR if step > 0 else -_FAR))
        strides.append(step)
    return strided_slice(
        value, begin=tuple(begin), end=tuple(end), strides=tuple(strides), axes=tuple(slices)
    )
