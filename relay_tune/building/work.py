"""The work that a planned program has to do."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.ir.dtypes import DTYPES
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import DIRECT
from relay_tune.tensor.expression import Binary, Tensor
from relay_tune.tensor.size import nominal
from relay_tune.tensor.walk import loads

BYTE_TYPES = frozenset({"int8", "uint8"})


def work_of(plan: Plan) -> KernelWork:
    """The work of a program under the algorithm of its plan."""
    return KernelWork(
        written=plan_operations(plan.with_algorithm(DIRECT)),
        operations=plan_operations(plan),
        bytes=program_bytes(plan.program),
        dtype=_dtype(plan),
        algorithm=plan.algorithm,
    )


def plan_operations(plan: Plan) -> int:
    """Arithmetic operations of all nests."""
    repeated = zip(plan.nests, plan.repeats, strict=True)
    return sum(nest_operations(nest) * (times or 1) for nest, times in repeated)


def nest_operations(nest: Nest) -> int:
    """Arithmetic operations: one for each point, two where products are summed."""
    is_product = isinstance(nest.body, Binary) and nest.body.operation == "mul"
    return nest.points * (2 if nest.operation == "sum" and is_product else 1)


def program_bytes(program: TensorProgram) -> int:
    """The bytes of all inputs, constants and outputs."""
    constants = [tensor for tensor, _ in program.constants]
    tensors: Sequence[Tensor] = (*program.inputs, *constants, *program.outputs)
    return sum(
        prod(nominal(extent) for extent in tensor.shape) * DTYPES[tensor.dtype].itemsize
        for tensor in tensors
    )


def _dtype(plan: Plan) -> str:
    """The type that the largest nest computes with: `int8` where it multiplies bytes."""
    largest = max(plan.nests, key=nest_operations, default=None)
    if largest is None:
        return "float32"
    if largest.body is None:
        return largest.target.dtype
    read = {load.dtype for load in loads(largest.body)}
    return "int8" if read and read <= BYTE_TYPES else largest.body.dtype
