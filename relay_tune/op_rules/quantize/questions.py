"""Questions of a quantizer to affine types before scales are known: the rules answer for any."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Tuple, Var
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.fold.layers import LAYERS, weighted_layer
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import operator_name, tensor_type
from relay_tune.op_rules.quantize.affine import BYTES, Affine, affine
from relay_tune.op_rules.quantize.rule import Given
from relay_tune.op_rules.quantize.table import AFFINE
from relay_tune.op_rules.typed import constant_of

WEIGHT_LIMIT = 127
"""Weights are stored symmetrically, as -127 to 127."""


def weight_integers(weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Weights as int8; the scale broadcasts to them."""
    ratio = np.rint(weight.astype(np.float64) / scale)
    return np.asarray(np.clip(ratio, -WEIGHT_LIMIT, WEIGHT_LIMIT), np.int8)


def largest_weights(layer: WeightedLayer) -> np.ndarray:
    """The largest magnitude of the weights of each output channel."""
    data = np.abs(layer.weight.data)
    others = tuple(axis for axis in range(data.ndim) if axis != layer.output_axis)
    return np.asarray(data.max(axis=others, initial=0.0), np.float64)


def integer_layer_of(node: Expr, dtype: str) -> WeightedLayer | None:
    """A layer that is computed in integers where its data are stored as `dtype`, whatever scale."""
    layer = weighted_layer(node)
    rule = AFFINE.rule_of(node)
    data = None if layer is None else _stored(layer.layer.arguments[0], dtype)
    if layer is None or rule is None or data is None or not np.isfinite(layer.weight.data).all():
        return None
    most = largest_weights(layer)
    scale = constant_of(np.where(most > 0, most / WEIGHT_LIMIT, 1.0).astype(np.float32))
    shape = [1] * layer.weight.data.ndim
    shape[layer.output_axis] = -1
    integers = constant_of(weight_integers(layer.weight.data, scale.data.reshape(shape)))
    zero = constant_of(np.zeros(scale.data.shape, np.int8))
    weight = affine(integers, scale, zero, layer.output_axis)
    return None if weight is None or rule(layer.layer, (data, weight)) is None else layer


def passed_through(node: Expr, dtype: str) -> tuple[Expr, ...]:
    """The arguments whose bytes a call moves, so that its result has their scale.

    None for calls that are computed in the kernel of their data, which bytes are stored behind.
    """
    if not isinstance(node, Call) or not isinstance(node.callee, Operator):
        return ()
    if node.callee.kind is FusionKind.ELEMENTWISE or weighted_layer(node) is not None:
        return ()
    found = _answer(node, dtype)
    if found is None or found[0].dtype != dtype:
        return ()
    return found[1]


def keeps_elements(node: Expr) -> bool:
    """Whether all that a call of float32 gives are elements of its arguments, or zeros."""
    if not isinstance(node, Call) or LAYERS.rule_of(node) is not None:
        return False
    (dtype, *_), found = BYTES, _answer(node, BYTES[0])
    return found is not None and found[0].dtype == dtype and bool((found[0].scale == 1).all())


def summed(node: Expr, dtype: str) -> tuple[Expr, ...]:
    """The arguments whose bytes a call adds up in int32, layers aside."""
    if not isinstance(node, Call) or LAYERS.rule_of(node) is not None:
        return ()
    found = _answer(node, dtype)
    return () if found is None or found[0].dtype != "int32" else found[1]


def _answer(node: Call, dtype: str) -> tuple[Affine, tuple[Expr, ...]] | None:
    """How a call's result is stored where its arguments of float32 are, and these arguments."""
    rule = AFFINE.rule_of(node)
    if rule is None or operator_name(node) == "qnn.dequantize":
        return None
    parts: list[Expr] = []
    given: list[Given] = []
    for argument in node.arguments:
        fields = argument.fields if isinstance(argument, Tuple) else (argument,)
        stored = [_stored(field, dtype) for field in fields]
        known = [each for each in stored if each is not None]
        if len(known) == len(fields):
            parts += fields
            given.append(known if isinstance(argument, Tuple) else known[0])
        else:
            given.append(None)
    found = rule(node, given)
    return None if found is None else (found, tuple(parts))


def _stored(argument: Expr, dtype: str) -> Affine | None:
    """A tensor of float32 as if it were stored, with the zero point that is hardest to sum."""
    type_ = tensor_type(argument)
    if type_ is None or type_.dtype != "float32" or isinstance(argument, Constant):
        return None
    stored = Var("stored", type=TensorType(type_.shape, dtype))
    zero = np.asarray(np.iinfo(dtype).min, dtype)
    return affine(stored, constant_of(np.asarray(1, np.float32)), constant_of(zero), 0)
