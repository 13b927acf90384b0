"""Grouped convolutions as tensor programs, their data padded beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor


@dataclass(frozen=True, slots=True)
class Grouped:
    """The shape of one: channels of each group, and the size of its square result."""

    groups: int
    inputs: int
    outputs: int
    size: int
    kernel: int = 3
    stride: int = 1
    dilation: int = 1

    def program(self) -> TensorProgram:
        """The convolution; its taps are random."""
        rows = (self.size - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        x = input_tensor("x", (rows, rows, self.groups * self.inputs), "float32")
        shape = (self.kernel, self.kernel, self.inputs, self.groups * self.outputs)
        w = input_tensor("w", shape, "float32")
        kh, kw = Axis("kh", self.kernel), Axis("kw", self.kernel)
        c = Axis("c", self.inputs)

        def element(i: Scalar, j: Scalar, o: Scalar) -> Scalar:
            row, column = (at * self.stride + k * self.dilation for at, k in ((i, kh), (j, kw)))
            read = x[row, column, o // self.outputs * self.inputs + c]
            return reduce("sum", [kh, kw, c], read * w[kh, kw, c, o])

        y = compute("y", (self.size, self.size, self.groups * self.outputs), element)
        taps = np.random.default_rng(self.groups).standard_normal(w.shape, np.float32)
        return TensorProgram((x,), (y,), ((w, taps),))
