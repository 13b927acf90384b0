"""Calls of primitive functions: as kernels, as arithmetic on registers, or as views."""

from __future__ import annotations

from relay_tune.errors import NoNativeCodeError
from relay_tune.first_order.block_builder import BlockBuilder
from relay_tune.first_order.instructions import ComputeScalars, Register, Reshape, RunKernel
from relay_tune.first_order.kinds import ScalarKind, function_type
from relay_tune.first_order.values import Value, new_registers, unflatten
from relay_tune.ir.expr import Function
from relay_tune.op.lower import TensorProgram, lower_function
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce, Tensor
from relay_tune.tensor.tensor import Computed, Input


def lower_primitive_call(
    builder: BlockBuilder, primitive: Function, inputs: tuple[Register, ...]
) -> Value:
    """Write the call of a primitive; its value."""
    result_type = function_type(primitive).result
    outputs = new_registers(result_type)
    if primitive.attributes.get("ReshapeOnly") == 1 and len(inputs) == len(outputs) == 1:
        builder.emit(Reshape(outputs[0], inputs[0]))
    elif _is_scalar(inputs, outputs) and scalar_program(primitive) is not None:
        builder.emit(ComputeScalars(primitive, inputs, outputs))
    else:
        builder.emit(RunKernel(primitive, inputs, outputs))
    return unflatten(result_type, iter(outputs))


def scalar_program(primitive: Function) -> TensorProgram | None:
    """What a primitive of scalars computes, None where it is more than an expression."""
    try:
        program = lower_function(primitive)
    except NoNativeCodeError:
        return None
    tensors = tensors_in_order(program.outputs)
    return program if all(_is_expression(tensor) for tensor in tensors) else None


def _is_expression(tensor: Tensor) -> bool:
    if tensor.shape:
        return False
    return isinstance(tensor, Input) or (
        isinstance(tensor, Computed) and not isinstance(tensor.body, Reduce)
    )


def _is_scalar(inputs: tuple[Register, ...], outputs: tuple[Register, ...]) -> bool:
    return all(isinstance(register.kind, ScalarKind) for register in (*inputs, *outputs))
