"""Calls of primitive functions: as kernels, as arithmetic on registers, or as views."""

from __future__ import annotations

from itertools import islice

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Expr, Function
from relay_tune.ir.types import TensorType, Type, unflatten
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_views import index_check, value_again
from relay_tune.program.block_builder import BlockBuilder
from relay_tune.program.index_checks import lower_index_check, register_of
from relay_tune.program.instructions import ComputeScalars, Register, Reshape, RunKernel
from relay_tune.program.kinds import component_types, function_type
from relay_tune.program.open_primitive import is_open_primitive, open_primitive
from relay_tune.program.values import Value, new_registers
from relay_tune.program.window_checks import window_checks
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce, Tensor
from relay_tune.tensor.tensor import Computed, Input


def lower_primitive_call(
    builder: BlockBuilder, primitive: Function, inputs: tuple[Register, ...]
) -> Value:
    """Write the call of a primitive; its value."""
    check = index_check(primitive)
    if check is not None:
        return lower_index_check(builder, check, _of_params(primitive, inputs))
    known = value_again(primitive)
    if known is not None:
        return register_of(builder, known.arguments[0], _of_params(primitive, inputs))
    result_type = function_type(primitive).result
    outputs = new_registers(result_type)
    if primitive.attributes.get("ReshapeOnly") == 1 and len(inputs) == len(outputs) == 1:
        named = open_primitive(primitive) if is_open_primitive(primitive) else None
        builder.emit(Reshape(outputs[0], inputs[0], named))
    elif is_scalar_arithmetic(primitive):
        builder.emit(ComputeScalars(primitive, inputs, outputs))
    else:
        for each in window_checks(primitive, inputs):
            builder.emit(each)
        builder.emit(RunKernel(primitive, inputs, outputs))
    return unflatten(result_type, iter(outputs))


def _of_params(
    primitive: Function, inputs: tuple[Register, ...]
) -> dict[Expr, tuple[Register, ...]]:
    """The registers of each parameter, several for a tuple."""
    rest = iter(inputs)
    types = function_type(primitive).params
    return {
        param: tuple(islice(rest, len(list(component_types(type_)))))
        for param, type_ in zip(primitive.params, types, strict=True)
    }


def is_scalar_arithmetic(primitive: Function) -> bool:
    """Whether a primitive computes numbers from numbers, by expressions alone."""
    type_ = function_type(primitive)
    types = (*type_.params, type_.result)
    if not all(_is_scalar(part) for whole in types for part in component_types(whole)):
        return False
    try:
        program = lower_function(primitive)
    except NoNativeCodeError:
        return False
    return all(_is_expression(tensor) for tensor in tensors_in_order(program.outputs))


def _is_scalar(type_: Type) -> bool:
    return isinstance(type_, TensorType) and not type_.shape


def _is_expression(tensor: Tensor) -> bool:
    if tensor.shape:
        return False
    return isinstance(tensor, Input) or (
        isinstance(tensor, Computed) and not isinstance(tensor.body, Reduce)
    )
