"""Primitives of scalars as arithmetic on registers."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.op.lower import lower_function
from relay_tune.program.instructions import ComputeScalars
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.tensor import Computed


def write_scalars(instruction: ComputeScalars, objects: ObjectWriter) -> None:
    """Evaluate what the primitive computes; its tensors, all of rank 0, are registers."""
    program = lower_function(instruction.primitive)
    values = ValueWriter(objects.writer, {})
    for given, register in zip(program.inputs, instruction.inputs, strict=True):
        values.loads.registers[given] = {0: Value(objects.names[register], given.dtype)}
    for tensor in tensors_in_order(program.outputs):
        if isinstance(tensor, Computed):
            values.loads.registers[tensor] = {0: values.evaluate(tensor.body)}
    for tensor, register in zip(program.outputs, instruction.outputs, strict=True):
        objects.names[register] = values.loads.registers[tensor][0].text
