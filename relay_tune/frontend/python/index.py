"""`value[...]`: projections of tuples, elements of lists, parts of tensors.

The entries between the brackets are data:

    ("at", i)                        the element i, i known when the function is translated
    ("given", n)                     the element that the n-th index says when the program runs
    ("slice", start, stop, step)     as in Python, each an integer or None; start and stop may be
                                     ("given", n), too
    ("new",)                         None: a new axis of size 1
    ("rest",)                        ...: all axes that no other entry names
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Expr, GlobalVar, Let, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, TupleType, Type, TypeCall
from relay_tune.op.cast import cast
from relay_tune.op.dynamic import dyn_strided_slice
from relay_tune.op.indexing import take
from relay_tune.op.joining import stack
from relay_tune.op.shape import expand_dims
from relay_tune.op.slicing import strided_slice
from relay_tune.typing.type_text import type_text

Entry = tuple[Any, ...]
EVERYTHING = ("slice", None, None, None)


def index_meaning(attributes: Any, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """Type of `value[entries]` for a value of the first type; RelationError if it has no parts."""
    value, *indices = arguments
    entries = attributes.items
    match types[0]:
        case TupleType(fields):
            return TupleGetItem(value, _field(entries, len(fields), types[0]))
        case TypeCall():
            return Call(GlobalVar("nth"), (value, _element(entries, indices)))
        case TensorType(shape) as type_:
            return _tensor_part(value, type_, _one_per_axis(entries, len(shape), type_), indices)
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
        case [("given", int(position))]:
            return indices[position]
    raise RelationError("a list is indexed by one number from 0 on; it has no slices")


def _one_per_axis(entries: Sequence[Entry], rank: int, type_: Type) -> list[Entry]:
    """The entries with `...` and what is missing at the end written out."""
    named = sum(1 for entry in entries if entry[0] not in ("new", "rest"))
    if named > rank:
        raise RelationError(f"{named} indices are too many for {type_text(type_)}")
    missing = [EVERYTHING] * (rank - named)
    if ("rest",) not in entries:
        return [*entries, *missing]
    position = list(entries).index(("rest",))
    return [*entries[:position], *missing, *entries[position + 1 :]]


def _tensor_part(
    value: Expr, type_: TensorType, entries: Sequence[Entry], indices: Sequence[Expr]
) -> Expr:
    axes = [entry for entry in entries if entry[0] != "new"]
    slices = {
        axis: entry
        for axis, entry in enumerate(axes)
        if entry[0] == "slice" and entry != EVERYTHING
    }
    if any(isinstance(bound, tuple) for entry in slices.values() for bound in entry[1:]):
        part, type_ = _sliced_at_run_time(value, type_, slices, indices)
        var = Var("part", type_)
        return Let(var, part, _elements(var, axes, entries, indices))
    return _elements(_sliced(value, slices) if slices else value, axes, entries, indices)


def _elements(
    value: Expr, axes: Sequence[Entry], entries: Sequence[Entry], indices: Sequence[Expr]
) -> Expr:
    """The elements along axes that have an index, and new axes."""
    for axis in reversed(range(len(axes))):
        match axes[axis]:
            case ("at", index):
                value = take(value, constant(index), axis=axis, mode="raise")
            case ("given", position):
                value = take(value, indices[position], axis=axis, mode="raise")
    kept = [entry for entry in entries if entry[0] in ("new", "slice")]
    for position, entry in enumerate(kept):
        if entry[0] == "new":
            value = expand_dims(value, axis=position)
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


def _sliced_at_run_time(
    value: Expr, type_: TensorType, slices: Mapping[int, Entry], indices: Sequence[Expr]
) -> tuple[Expr, TensorType]:
    """A slice with bounds that only the run tells, and its type: other axes keep their sizes."""
    columns = []
    for axis in range(len(type_.shape)):
        _, start, stop, step = slices.get(axis, EVERYTHING)
        forward = step is None or step > 0
        start = (0 if forward else _FAR) if start is None else start
        stop = (_FAR if forward else -_FAR) if stop is None else stop
        columns.append((start, stop, 1 if step is None else step))
    vectors = (
        stack(Tuple(tuple(_whole(bound, indices) for bound in bounds)), axis=0)
        for bounds in zip(*columns, strict=True)
    )
    shape = (UNKNOWN if axis in slices else dim for axis, dim in enumerate(type_.shape))
    return dyn_strided_slice(value, *vectors), TensorType(tuple(shape), type_.dtype)


def _whole(bound: int | tuple[str, int], indices: Sequence[Expr]) -> Expr:
    """A bound as an int64."""
    if isinstance(bound, tuple):
        return cast(indices[bound[1]], dtype="int64")
    return constant(bound, "int64")
