"""Attribute records of operators over one, two and three spatial axes, from one record.

    ConvAttributes(strides=(1,), data_layout="NC*")
    Conv2DAttributes(strides=(1, 1), data_layout="NCHW")

A default of one number in a tuple counts for each axis; `*` in a default layout are their letters.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from relay_tune.ir.expr import Attributes
from relay_tune.quick_dataclass import dataclass

Record = TypeVar("Record", bound=Attributes)


def by_spatial_axes(record: type[Record]) -> tuple[type[Record], type[Record], type[Record]]:
    """The records for one, two and three spatial axes: of ConvAttributes Conv1DAttributes, ..

    Assign them to these names, under which `pickle` looks for them.
    """
    return _for_axes(record, "W"), _for_axes(record, "HW"), _for_axes(record, "DHW")


def _for_axes(record: type[Record], letters: str) -> type[Record]:
    rank, stem = len(letters), record.__name__.removesuffix("Attributes")
    defaults = {each: _default(each.default, letters) for each in fields(record)}
    changed = {each: value for each, value in defaults.items() if value != each.default}
    body: dict[str, Any] = {each.name: value for each, value in changed.items()}
    body["__annotations__"] = {each.name: each.type for each in changed}
    body["__doc__"] = f"{record.__name__} of {rank} spatial axes."
    body["__module__"] = record.__module__
    made: type[Record] = dataclass(frozen=True)(type(f"{stem}{rank}DAttributes", (record,), body))
    return made


def _default(value: object, letters: str) -> object:
    match value:
        case (int(one),):
            return (one,) * len(letters)
        case str():
            return value.replace("*", letters)
        case _:
            return value
