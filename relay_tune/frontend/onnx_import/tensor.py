"""Tensors of ONNX files as arrays: checked against their declared size before anything is read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto

from relay_tune.arguments import require_regular
from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, NarrowType, unpacked
from relay_tune.frontend.onnx_import.types import dtype_name, numpy_dtype

MAXIMUM_RANK = 32
MAXIMUM_SPARSE_ELEMENTS = 1 << 24

_FIELDS = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}
_BITS_IN_INT32 = ("float16", "bfloat16")


def tensor_array(tensor: TensorProto, folder: Path | None, what: str) -> np.ndarray:
    """The content of a tensor.

    `folder` is where the model lies: files of external data must be in it or below; None forbids
    them. Raises ModelError if sizes or types contradict each other, UnsupportedOperatorError for
    an element type that has no counterpart.
    """
    shape = _checked_shape(tensor.dims, what)
    narrow = NARROW_TYPES.get(tensor.data_type)
    if narrow is not None:
        return _narrow_array(tensor, narrow, shape, folder, what)
    dtype = dtype_name(tensor.data_type, what)
    count = math.prod(shape)
    if tensor.data_location == TensorProto.EXTERNAL:
        raw = _external_bytes(tensor, count * numpy_dtype(dtype).itemsize, folder, what)
        return _from_bytes(raw, dtype, shape, what)
    if tensor.HasField("raw_data"):
        return _from_bytes(tensor.raw_data, dtype, shape, what)
    return _from_numbers(tensor, dtype, shape, what)


def sparse_array(sparse: SparseTensorProto, folder: Path | None, what: str) -> np.ndarray:
    """A sparse tensor with its zeros written out; raises ModelError as `tensor_array` does."""
    shape = _checked_shape(sparse.dims, what)
    if math.prod(shape) > MAXIMUM_SPARSE_ELEMENTS:
        raise ModelError(f"{what} is a sparse tensor of {math.prod(shape)} elements: too many.")
    values = tensor_array(sparse.values, folder, what).reshape(-1)
    indices = tensor_array(sparse.indices, folder, what)
    if indices.ndim == 2 and indices.shape[1] == len(shape):
        positions = [indices[:, axis] for axis in range(len(shape))]
        flat = np.ravel_multi_index(positions, shape) if len(shape) else indices[:, 0]
    else:
        flat = indices.reshape(-1)
    dense = np.zeros(math.prod(shape), values.dtype)
    if len(flat) != len(values) or (len(flat) and not 0 <= flat.min() <= flat.max() < dense.size):
        raise ModelError(
            f"{what} is a sparse tensor whose indices do not fit its values and shape."
        )
    dense[flat] = values
    return dense.reshape(shape)


def _checked_shape(dims: Any, what: str) -> tuple[int, ...]:
    shape = tuple(int(dim) for dim in dims)
    if any(dim < 0 for dim in shape):
        raise ModelError(f"{what} has the shape {shape}; a size cannot be negative.")
    if len(shape) > MAXIMUM_RANK:
        raise ModelError(f"{what} has {len(shape)} dimensions; the limit is {MAXIMUM_RANK}.")
    return shape


def _from_bytes(raw: bytes, dtype: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    wanted = math.prod(shape) * numpy_dtype(dtype).itemsize
    if len(raw) != wanted:
        raise ModelError(
            f"{what} of shape {shape} and type {dtype} needs {wanted} bytes, but has {len(raw)}.",
            remedy="The file is damaged or was written wrongly; export it again.",
        )
    if dtype == "bool":
        return np.frombuffer(raw, np.uint8).reshape(shape).astype(bool)
    stored = numpy_dtype(dtype)
    if dtype != "bfloat16":
        stored = stored.newbyteorder("<")
    return np.frombuffer(raw, stored).reshape(shape).astype(numpy_dtype(dtype), copy=False)


def _narrow_array(
    tensor: TensorProto, type_: NarrowType, shape: tuple[int, ...], folder: Path | None, what: str
) -> np.ndarray:
    """The elements of a type of at most 8 bits, one a byte."""
    count = math.prod(shape)
    size = -(-count * type_.bits // 8)
    if tensor.data_location == TensorProto.EXTERNAL:
        raw = _external_bytes(tensor, size, folder, what)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data
    else:
        raw = np.array(tensor.int32_data, np.int64).astype(np.uint8).tobytes()
    if len(raw) != size:
        raise ModelError(
            f"{what} of shape {shape} and type {type_.name} needs {size} bytes, but has "
            f"{len(raw)}.",
            remedy="The file is damaged or was written wrongly; export it again.",
        )
    return unpacked(raw, type_, count).reshape(shape)


def _from_numbers(tensor: TensorProto, dtype: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    field = getattr(tensor, _FIELDS.get(dtype, "int32_data"))
    if len(field) != math.prod(shape):
        raise ModelError(
            f"{what} of shape {shape} needs {math.prod(shape)} numbers, but has {len(field)}.",
            remedy="The file is damaged or was written wrongly; export it again.",
        )
    if dtype in _BITS_IN_INT32:
        bits = np.array(field, np.int64).astype(np.uint16)
        return bits.view(numpy_dtype(dtype)).reshape(shape)
    wide = np.float64 if dtype in ("float32", "float64") else None
    return np.array(field, dtype=wide or _wide_integer(dtype)).astype(dtype).reshape(shape)


def _wide_integer(dtype: str) -> type[np.generic]:
    return np.uint64 if dtype in ("uint32", "uint64") else np.int64


_WHOLE_FILES = "Copy the model together with its data files, each of them whole."


def _external_bytes(tensor: TensorProto, size: int, folder: Path | None, what: str) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _external_path(entries.get("location", ""), folder, what)
    offset = _external_number(entries.get("offset", "0"), what)
    length = _external_number(entries.get("length", str(size)), what)
    if length != size:
        raise ModelError(f"{what} needs {size} bytes, but its external data has {length}.")
    require_regular(path, f"{what}: its data file")
    try:
        with path.open("rb") as file:
            available = file.seek(0, 2)
            if offset + size > available:
                raise ModelError(
                    f"{what} ends at byte {offset + size} of {path.name}, which has {available}.",
                    remedy=_WHOLE_FILES,
                )
            file.seek(offset)
            return file.read(size)
    except OSError as error:
        raise ModelError(
            f"{what}: its data file {path} cannot be read: {error.strerror}.",
            remedy=_WHOLE_FILES,
        ) from error


def _external_path(location: str, folder: Path | None, what: str) -> Path:
    if folder is None:
        raise ModelError(
            f"{what} keeps its data in the file {location!r}, "
            "but the model was not read from a file.",
            remedy="Pass the path of the model instead of its content.",
        )
    if not location or "\0" in location:
        raise ModelError(f"{what} keeps its data in a file, but names none.")
    path = (folder / location).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ModelError(
            f"{what} keeps its data in {location!r}, which is outside the folder of the model.",
            remedy="Put the data file beside the model and write a relative location.",
        )
    return path


def _external_number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ModelError(f"{what}: the external data has the offset or length {text!r}.")
    return int(text)


def unsupported_strings(what: str) -> UnsupportedOperatorError:
    """The error of a value made of strings."""
    return UnsupportedOperatorError(f"{what} holds strings, which are not supported.")
