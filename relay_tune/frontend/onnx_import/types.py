"""Element types and shapes of ONNX, in words of the language."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES

DTYPE_NAMES: Mapping[int, str] = MappingProxyType(
    {
        TensorProto.BOOL: "bool",
        TensorProto.INT8: "int8",
        TensorProto.INT16: "int16",
        TensorProto.INT32: "int32",
        TensorProto.INT64: "int64",
        TensorProto.UINT8: "uint8",
        TensorProto.UINT16: "uint16",
        TensorProto.UINT32: "uint32",
        TensorProto.UINT64: "uint64",
        TensorProto.FLOAT16: "float16",
        TensorProto.FLOAT: "float32",
        TensorProto.DOUBLE: "float64",
        TensorProto.BFLOAT16: "bfloat16",
    }
)
"""The element types that programs can compute with."""

_NAMES_OF_OTHERS = {
    value: name.lower() for name, value in TensorProto.DataType.items() if value != 0
}


def dtype_name(element_type: int, what: str) -> str:
    """The dtype of an ONNX element type.

    Raises UnsupportedOperatorError for one that has no counterpart, ModelError for none at all.
    """
    name = DTYPE_NAMES.get(element_type)
    if name is not None:
        return name
    if element_type not in _NAMES_OF_OTHERS:
        raise ModelError(f"{what} has the element type {element_type}, which ONNX does not define.")
    raise UnsupportedOperatorError(
        f"{what} has the element type {_NAMES_OF_OTHERS[element_type]}, which is not supported.",
        remedy=f"Supported element types are {', '.join(DTYPE_NAMES.values())}.",
    )


def storage_name(element_type: int, what: str) -> str:
    """The dtype of the tensors that hold an ONNX element type, also one that is only stored.

    Raises UnsupportedOperatorError or ModelError as `dtype_name` does.
    """
    narrow = NARROW_TYPES.get(element_type)
    return dtype_name(element_type, what) if narrow is None else narrow.storage


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of a dtype name."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def element_type(dtype: str) -> int:
    """The ONNX element type of a dtype name."""
    return next(number for number, name in DTYPE_NAMES.items() if name == dtype)


def is_float(dtype: str) -> bool:
    """Whether a dtype is a floating-point type."""
    return "float" in dtype


def is_integer(dtype: str) -> bool:
    """Whether a dtype is a signed or unsigned integer type."""
    return "int" in dtype


def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def lowest_value(dtype: str) -> float:
    """The value that no other value of a number dtype is smaller than."""
    return float("-inf") if is_float(dtype) else integer_range(dtype)[0]
