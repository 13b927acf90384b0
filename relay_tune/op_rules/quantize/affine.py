"""Tensors of real numbers that are stored as integers with a scale and a zero point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Constant, Expr
from relay_tune.op_rules.matching import constant_data, rank, tensor_type
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass

INT32_MAX = 2**31 - 1

BYTES = ("int8", "uint8")
"""Element types that integer products read."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A tensor of float32: real = (stored - zero) * scale.

    Attributes:
        stored: the integers.
        scale: float64, positive: one number, or a vector along `axis`.
        zero: int64, of the same shape; the stored type has them.
        axis: the axis that vectors count, from the front; 0 where there are none.
        bounds: numbers between which all stored integers and their differences to `zero` are known
            to lie; they fit int32.
    """

    stored: Expr
    scale: np.ndarray
    zero: np.ndarray
    axis: int
    bounds: tuple[int, int]

    @property
    def dtype(self) -> str:
        """The integer type that is stored."""
        type_ = tensor_type(self.stored)
        return "" if type_ is None else type_.dtype

    @property
    def is_uniform(self) -> bool:
        """Whether all elements have the same scale and zero point."""
        return self.scale.ndim == 0

    @property
    def is_bytes(self) -> bool:
        """Whether bytes are stored."""
        return self.dtype in BYTES

    @property
    def most(self) -> int:
        """The largest magnitude of the bounds."""
        return max(abs(bound) for bound in self.bounds)

    @property
    def integers(self) -> np.ndarray | None:
        """The differences to the zero point where they are constant, as int64."""
        data = constant_data(self.stored)
        if data is None:
            return None
        return np.asarray(data.astype(np.int64) - self.aligned(self.zero), np.int64)

    def aligned(self, parameter: np.ndarray) -> np.ndarray:
        """A parameter so that it broadcasts to the stored integers."""
        dims = rank(self.stored) or 0
        if parameter.ndim == 0:
            return parameter
        return parameter.reshape((-1, *(1,) * (dims - 1 - self.axis)))

    def like(self, stored: Expr) -> Affine:
        """Other integers that mean the same."""
        return replace(self, stored=stored)

    def same_type(self, other: Affine) -> bool:
        """Whether both store equal numbers as equal integers."""
        return (
            self.is_uniform
            and other.is_uniform
            and self.dtype == other.dtype
            and bool(self.scale == other.scale and self.zero == other.zero)
        )

    def real(self) -> Expr:
        """The float32 numbers."""
        zero = constant_of(self.zero.astype(self.dtype))
        scale = constant_of(self.scale.astype(np.float32))
        axis = -1 if self.is_uniform else self.axis
        return call("qnn.dequantize", self.stored, scale, zero, axis=axis)


def affine(stored: Expr, scale: Expr, zero: Expr, axis: int) -> Affine | None:
    """Integers with constant parameters; None where these are unknown, or are no affine type.

    A scale is positive and finite, a zero point one of the numbers that are stored.
    """
    type_, dims = tensor_type(stored), rank(stored)
    if not isinstance(scale, Constant) or not isinstance(zero, Constant):
        return None
    if type_ is None or dims is None or not scale.data.size:
        return None
    scales, zeros = np.broadcast_arrays(scale.data.astype(np.float64), zero.data.astype(np.int64))
    if not np.isfinite(scales).all() or not (scales > 0).all():
        return None
    limits = np.iinfo(type_.dtype)
    if zeros.min() < limits.min or zeros.max() > limits.max:
        return None
    low = min(int(limits.min), int(limits.min) - int(zeros.max()))
    high = max(int(limits.max), int(limits.max) - int(zeros.min()))
    data = constant_data(stored)
    if data is not None and data.size:
        differences = data.astype(np.int64).reshape(-1)
        low = min(int(differences.min()), int(differences.min()) - int(zeros.max()))
        high = max(int(differences.max()), int(differences.max()) - int(zeros.min()))
    if low < -INT32_MAX or high > INT32_MAX:
        return None
    return Affine(stored, scales, zeros, axis % dims if scales.ndim else 0, (low, high))
