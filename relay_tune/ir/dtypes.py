"""The element types of tensors, by name: numpy's own and bfloat16."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from relay_tune.errors import InputError

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name)
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
    )
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def dtype_name(data: np.ndarray) -> str:
    """The name of an array's element type; raises InputError if tensors cannot have it."""
    name = data.dtype.name
    if name not in DTYPES:
        raise InputError(
            f"A tensor cannot have elements of type {name}.",
            notes=(f"Possible are {', '.join(DTYPES)}.",),
            remedy="Convert the array with numpy's astype first.",
        )
    return name


def is_float(dtype: str) -> bool:
    """Whether elements of this type are floating-point numbers."""
    return dtype.startswith(("float", "bfloat"))
