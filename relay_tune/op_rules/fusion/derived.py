"""How derivatives of operators take part in kernels: as what their tensors are.

derivative of         is
tanh                  element by element
broadcast to rows     a reduction
slice, transpose      one element for each element
dense                 a sum that others may follow
softmax, gather       several stages, loop nests: a kernel of its own
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op.derived import DerivedAttributes, original_of
from relay_tune.op_rules.fusion.rule import FusionRule
from relay_tune.op_rules.matching import example_type
from relay_tune.remembered import remembered
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Literal, Load, Reduce, Scalar, Tensor
from relay_tune.tensor.tensor import Computed, Input, input_tensor
from relay_tune.tensor.walk import loads


def _kind(call: Call) -> FusionKind:
    types = [argument.type for argument in call.arguments]
    known = tuple(type_ for type_ in types if isinstance(type_, TupleType))
    if len(known) != len(types) or not isinstance(call.type, TensorType):
        return FusionKind.OPAQUE
    assert isinstance(call.callee, Operator) and isinstance(call.attributes, DerivedAttributes)
    return _kind_of(call.callee, call.attributes, known, call.type)


@remembered(1024, lasts=True)
def _kind_of(
    operator: Operator,
    attributes: DerivedAttributes,
    types: tuple[TupleType, ...],
    result: TensorType,
) -> FusionKind:
    """The kind of a call with arguments and a result of such types."""
    tensors = [_inputs(type_) for type_ in types]
    if any(each is None for each in tensors) or UNKNOWN in result.shape:
        return FusionKind.OPAQUE
    assert operator.compute is not None
    (output,) = operator.compute(attributes, tensors, [example_type(result)])
    reduction = original_of(attributes).operator.kind <= FusionKind.BROADCAST
    return _kind_of_tensor(output, FusionKind.REDUCTION if reduction else FusionKind.OUTPUT_FUSABLE)


def _inputs(type_: TupleType) -> list[Input] | None:
    """Inputs of the types in a tuple, of the example's sizes; None where a size has no name."""
    fields = [field for field in type_.fields if isinstance(field, TensorType)]
    if len(fields) != len(type_.fields) or any(UNKNOWN in field.shape for field in fields):
        return None
    return [_input(example_type(field)) for field in fields]


def _input(type_: TensorType) -> Input:
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    return input_tensor("x", shape, type_.dtype)


def _kind_of_tensor(output: Tensor, of_sums: FusionKind) -> FusionKind:
    """The kind of the computation of a tensor; `of_sums` where its last stage but one is a sum."""
    stages = [tensor for tensor in tensors_in_order([output]) if not isinstance(tensor, Input)]
    computed = [stage for stage in stages if isinstance(stage, Computed)]
    if len(computed) != len(stages):
        return FusionKind.OPAQUE
    sums = [stage for stage in computed if isinstance(stage.body, Reduce)]
    if sums:
        return of_sums if len(sums) == 1 else FusionKind.OPAQUE
    if not all(_is_elementwise(stage) for stage in computed):
        return FusionKind.INJECTIVE
    shapes = {load.tensor.shape for stage in computed for load in loads(stage.body)}
    return FusionKind.ELEMENTWISE if shapes <= {output.shape} else FusionKind.BROADCAST


def _is_elementwise(stage: Computed) -> bool:
    return all(_is_aligned(load, stage.axes) for load in loads(stage.body))


def _is_aligned(load: Load, axes: Sequence[Axis]) -> bool:
    """Whether a load reads the element at the axes, aligned from the right, or repeated."""
    behind = len(axes) - len(load.indices)
    return behind >= 0 and all(
        index is axes[behind + position] or _is_first(index)
        for position, index in enumerate(load.indices)
    )


def _is_first(index: Scalar) -> bool:
    return isinstance(index, Literal) and index.value == 0


_RULE = FusionRule(kind=_kind)

RULES: Mapping[str, FusionRule] = {"derivative.adjoint": _RULE, "derivative.tangent": _RULE}
