"""Give annotated tensors their scales: the second step of quantization.

before:
    %0 = qnn.observe(%x, tensor="x", dtype="uint8");
    %1 = qnn.observe(W, tensor="dense.weight", axis=0);
    %2 = nn.dense(%0, %1);
    nn.bias_add(%2, qnn.observe(b, tensor="dense.bias", dtype="int32", axis=0,
                                factors=("x", "dense.weight")))

after:
    %0 = qnn.dequantize(qnn.quantize(%x, 0.02f, 3u8, out_dtype="uint8"), 0.02f, 3u8);
    %1 = qnn.dequantize(qnn.quantize(W, S, Z, axis=0), S, Z, axis=0);
    %2 = nn.dense(%0, %1);
    nn.bias_add(%2, qnn.dequantize(B, 0.02 * S, 0, axis=0))

The result computes in float32 what integers will, to their rounding. B is b in units of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import reduce
from typing import ClassVar

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op_rules.quantize.annotations import Observation, observation
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import rewrite_calls
from relay_tune.transform.quantize.stored_type import StoredType


@dataclass(frozen=True)
class Calibrate:
    """Replaces annotations by conversions to integers and back.

    Fields:
        types: how each annotated tensor is stored, by its name; biases need none.
    """

    name: ClassVar[str] = "calibrate"
    types: Mapping[str, StoredType] = field(default_factory=dict)

    def __call__(self, module: Module) -> Module:
        """The module without annotations; InputError where a tensor has no type."""
        return rewrite_calls(module, self._visit)

    def _visit(self, node: Expr) -> Expr:
        found = observation(node)
        if found is None:
            return node
        if found.is_bias:
            scales = [self._type(name).scale.astype(np.float64) for name in found.factors]
            return _bias(found, np.asarray(reduce(np.multiply, scales), np.float32))
        type_ = self._type(found.tensor)
        scale, zero = constant_of(type_.scale), constant_of(type_.zero)
        axis = -1 if found.axis is None else found.axis
        stored = call("qnn.quantize", found.data, scale, zero, out_dtype=type_.dtype, axis=axis)
        return call("qnn.dequantize", stored, scale, zero, axis=axis)

    def _type(self, name: str) -> StoredType:
        if name not in self.types:
            raise InputError(
                f"No scale is known for the tensor {name!r}.",
                remedy="Calibrate each annotated tensor; rt.quantize does.",
            )
        return self.types[name]


def _bias(found: Observation, scale: np.ndarray) -> Expr:
    """A constant vector in whole units of a scale for each element."""
    if found.constant is None:
        return found.data
    limits = np.iinfo(np.int32)
    ratio = np.rint(found.constant / scale.astype(np.float64))
    stored = np.clip(ratio, limits.min, limits.max).astype(np.int32)
    units, zero = constant_of(scale), constant_of(np.zeros(scale.shape, np.int32))
    return call("qnn.dequantize", constant_of(stored), units, zero, axis=0)
