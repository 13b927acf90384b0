"""Tensors of other libraries as arrays that share their memory, by the DLPack protocol.

numpy reads all but the types that it does not have (bfloat16 and those of 8 bits); of these the
capsule is read here, as `DLManagedTensor` of <dlpack.h> lays it out.
"""

from __future__ import annotations

import ctypes
from math import prod

import ml_dtypes
import numpy as np

_CPU = 1

_TYPES = {
    (4, 16): ml_dtypes.bfloat16,
    (8, 8): ml_dtypes.float8_e4m3b11fnuz,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (11, 8): ml_dtypes.float8_e4m3fnuz,
    (12, 8): ml_dtypes.float8_e5m2,
    (13, 8): ml_dtypes.float8_e5m2fnuz,
}
"""Element types by code and bits."""


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def array_of_tensor(tensor: object) -> np.ndarray:
    """An array over the memory of a tensor that has `__dlpack__`; it keeps the tensor alive.

    Raises BufferError, RuntimeError, TypeError or ValueError where the library does not lend it.
    """
    try:
        return np.from_dlpack(tensor)  # type: ignore[arg-type]  # it has the method
    except RuntimeError:
        return _array_of_capsule(tensor)


def _array_of_capsule(tensor: object) -> np.ndarray:
    """The array of a tensor whose element type numpy does not have."""
    capsule = tensor.__dlpack__()  # type: ignore[attr-defined]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    described = _Tensor.from_address(pointer(capsule, b"dltensor"))
    dtype = _TYPES.get((described.code, described.bits))
    if dtype is None or described.lanes != 1:
        raise ValueError(f"DLPack type {described.code} of {described.bits} bits is not known")
    if described.device_type != _CPU:
        raise ValueError("the tensor is not in CPU memory")
    shape = tuple(described.shape[: described.ndim])
    if 0 in shape:
        return np.empty(shape, dtype)
    item = np.dtype(dtype).itemsize
    if described.strides:
        strides = [item * step for step in described.strides[: described.ndim]]
    else:  # in order, without gaps
        strides = [item * prod(shape[axis + 1 :]) for axis in range(len(shape))]
    memory = _Memory(tensor, described.data + described.byte_offset, shape, strides, item)
    return np.asarray(memory).view(dtype)


class _Memory:
    """Borrowed memory, and its owner; numpy keeps this object with an array of it."""

    def __init__(
        self, owner: object, address: int, shape: tuple[int, ...], strides: list[int], item: int
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": tuple(strides),
            "typestr": f"<u{item}" if item > 1 else "|u1",
        }
