"""Lists and options of the prelude, as lists and None of Python.

List[Tensor[(?), float32]]      [array, array]
Option[int64]                   None, or the number
"""

from __future__ import annotations

from typing import cast

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import GlobalTypeVar, TensorType, TupleType, Type, TypeCall
from relay_tune.runtime.interpreter.values import ConstructorValue, Value
from relay_tune.std import constructor


def from_python(value: object, type_: Type | None) -> Value:
    """A value for a type that has lists or options, where it was written in Python's own words.

    Whatever is a value of programs already, or does not fit, stays as it is.
    """
    match type_:
        case TypeCall(GlobalTypeVar("List"), (element,)) if isinstance(value, list | tuple):
            result = ConstructorValue(constructor("Nil"), ())
            for item in reversed(value):
                fields = (from_python(item, element), result)
                result = ConstructorValue(constructor("Cons"), fields)
            return result
        case TypeCall(GlobalTypeVar("Option"), (inner,)) if not isinstance(value, ConstructorValue):
            if value is None:
                return ConstructorValue(constructor("None"), ())
            return ConstructorValue(constructor("Some"), (from_python(value, inner),))
        case TupleType(fields) if isinstance(value, list | tuple) and len(value) == len(fields):
            return tuple(from_python(v, t) for v, t in zip(value, fields, strict=True))
        case TensorType() if isinstance(value, bool | int | float | np.generic):
            return np.asarray(value, DTYPES[type_.dtype])
        case _:
            return cast("Value", value)  # any value of programs may be passed on


def to_python(value: object) -> object:
    """A value of programs with lists as lists of Python, and options as None or their value."""
    if isinstance(value, tuple):
        return tuple(map(to_python, value))
    if not isinstance(value, ConstructorValue):
        return value
    match value.constructor.belongs_to.name:
        case "List":
            return _items(value)
        case "Option":
            return to_python(value.fields[0]) if value.fields else None
        case _:
            return value


def _items(value: ConstructorValue) -> list[object]:
    items: list[object] = []
    while value.fields:
        first, rest = value.fields
        items.append(to_python(first))
        assert isinstance(rest, ConstructorValue)  # the type of lists says so
        value = rest
    return items
