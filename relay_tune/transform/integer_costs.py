"""Whether a layer costs less in integers than in float32, by the estimate of kernels' costs."""

from __future__ import annotations

from math import inf

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Var
from relay_tune.ir.operator import FusionKind, Operator, RelationError
from relay_tune.ir.types import TensorType
from relay_tune.machine.machine import Machine
from relay_tune.op.bounded_constants import has_small_elements
from relay_tune.op_rules.fold.layers import LAYERS
from relay_tune.op_rules.matching import (
    example_type,
    static_shape,
    tensor_type,
)
from relay_tune.op_rules.parallel.layers import channels_of, sample_layer
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.layout.kernel_cost import kernel_cycles


@dataclass(frozen=True, slots=True)
class IntegerCosts:
    """Estimates for layers.

    Attributes:
        machine: that runs the program.
        accuracy: of the algorithms that float32 may use.
    """

    machine: Machine
    accuracy: Accuracy

    def are_less(self, layer: Call, found: Affine) -> bool:
        """Whether what a rule found for a call is no layer, or one that costs less than in float32.

        Layers whose sizes are open are compared at an example's.
        """
        product = _product(layer, found)
        if product is None:
            return True
        try:
            factor = product.arguments[1]
            is_constant = isinstance(factor, Constant)
            weights = ("int8", "float32") if is_constant else (None, None)
            are_small = isinstance(factor, Constant) and has_small_elements(factor.data)
            cycles = self._cycles(product, weights[0], are_small=are_small)
            return cycles < self._cycles(layer, weights[1], below=cycles)
        except RelationError:  # the example's sizes are none that the windows fit in
            return False

    def _cycles(
        self, layer: Call, weight: str | None, below: float = inf, *, are_small: bool = False
    ) -> float:
        params, body = _sample(layer, weight)
        return kernel_cycles(
            params, body, self.machine, self.accuracy, below, constants_are_bounded=are_small
        )


def _product(layer: Call, found: Affine) -> Call | None:
    """The call of the same operator on what is stored, if it sums products."""
    operator = layer.callee
    if not isinstance(operator, Operator) or operator.kind is not FusionKind.OUTPUT_FUSABLE:
        return None
    node: Expr = found.stored
    while found.dtype == "int32" and isinstance(node, Call):
        if node.callee is operator:
            return node
        node = node.arguments[0]
    return None


def _sample(layer: Call, weight: str | None) -> tuple[tuple[Var, ...], Call]:
    """The layer on parameters; images are channels last, constant weights are zeros of a type."""
    data, factor = (_example(name, each) for name, each in zip("ab", layer.arguments, strict=True))
    rule, shape = LAYERS.rule_of(layer), static_shape(factor)
    if weight is not None and rule is not None and shape is not None:
        zeros = constant_of(np.broadcast_to(np.zeros((), weight), shape))
        found = rule(recall(layer, (data, zeros)), zeros)
        if found is not None:
            image, body = sample_layer(found, channels_of(found))
            return (image,), body
    return (data, factor), recall(layer, (data, factor))


def _example(name: str, value: Expr) -> Var:
    type_ = tensor_type(value)
    example: TensorType | None = None if type_ is None else example_type(type_)
    return Var(name, example, type=example)
