"""Values that the user gives for inputs of an ONNX graph, which become constants of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, TypeProto

from relay_tune.errors import InputError
from relay_tune.frontend.onnx_import.declared_types import declared_size
from relay_tune.frontend.onnx_import.types import is_float, numpy_dtype, storage_name

GivenValue = np.ndarray | list["GivenValue"] | None
"""An array, the elements of a sequence, or nothing for an empty optional."""


def given_constants(
    graph: GraphProto, weights: Mapping[str, object], constants: Mapping[str, object]
) -> dict[str, GivenValue]:
    """Values for inputs by name, of the types and shapes that the graph declares.

    Numbers and lists are converted to arrays; a single number fills a shape of one element. The
    value of a sequence is a list of values, that of an optional may be None. Raises InputError
    where a name is no input, or a value does not fit.
    """
    declared = {value.name: value for value in graph.input if value.name not in weights}
    unknown = [name for name in constants if name not in declared]
    if unknown:
        raise InputError(
            f"A value is given for {unknown[0]!r}, which is not an input of the model.",
            notes=(f"The inputs are {', '.join(declared) or 'none'}.",),
            remedy="Use one of these names.",
        )
    return {name: _converted(name, value, declared[name].type) for name, value in constants.items()}


def _converted(name: str, value: object, declared: TypeProto) -> GivenValue:
    match declared.WhichOneof("value"):
        case "optional_type":
            inner = declared.optional_type.elem_type
            return None if value is None else _converted(name, value, inner)
        case "sequence_type":
            if not isinstance(value, list | tuple):
                raise InputError(
                    f"The value for {name!r} must be a sequence.",
                    remedy="Give a list of arrays.",
                )
            inner = declared.sequence_type.elem_type
            return [_converted(name, each, inner) for each in value]
        case _:
            return _converted_tensor(name, value, declared.tensor_type)


def _converted_tensor(name: str, value: object, tensor: Any) -> np.ndarray:
    dtype = storage_name(tensor.elem_type, f"The input {name!r}")
    array = _of_dtype(name, value, dtype)
    if not tensor.HasField("shape"):
        return array
    sizes = [declared_size(dim, f"an axis of the input {name!r}") for dim in tensor.shape.dim]
    wanted = [size if isinstance(size, int) else -1 for size in sizes]
    if array.size == 1 and all(size in (1, -1) for size in wanted):
        return array.reshape((1,) * len(wanted))
    fits = all(want in (size, -1) for want, size in zip(wanted, array.shape, strict=False))
    if array.ndim != len(wanted) or not fits:
        shape = ", ".join(str(size) if size else "?" for size in sizes)
        raise InputError(
            f"The value for {name!r} has the shape {array.shape}, "
            f"but the model declares ({shape}).",
            remedy="Give a value of this shape.",
        )
    return array


def _of_dtype(name: str, value: object, dtype: str) -> np.ndarray:
    """An array of exactly this dtype; numbers of Python are converted where nothing is lost."""
    wanted = numpy_dtype(dtype)
    if isinstance(value, bool | int | float | list | tuple):
        try:
            array = np.asarray(value)
            converted = array.astype(wanted)
        except (ValueError, TypeError, OverflowError):
            array = converted = np.asarray("no number")
        if array.dtype.kind in "biuf" and (is_float(dtype) or np.array_equal(array, converted)):
            return converted
        raise InputError(
            f"The value {value!r} for {name!r} is none of type {dtype}.",
            remedy=f"Give {'true or false' if dtype == 'bool' else 'numbers'} of this type.",
        )
    array = np.asarray(value)
    if array.dtype != wanted:
        raise InputError(
            f"The value for {name!r} is {array.dtype}, but must be {dtype}.",
            remedy=f'Convert it: np.asarray(value, "{dtype}").',
        )
    return array
