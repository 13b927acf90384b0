"""The work that a planned program has to do; of dynamic sizes, that of the example."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.target import Target
from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import WORD_PATTERNS, WordPattern
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.tensor.expression import Binary, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import loads

BYTE_TYPES = frozenset({"int8", "uint8"})


def work_of(plan: Plan) -> KernelWork:
    """The work of a program under the algorithm of its plan."""
    return KernelWork(
        written=plan_operations(plan.with_algorithm(DIRECT)),
        operations=_operations_by_unit(plan),
        bytes=plan_bytes(plan),
        algorithm=str(plan.algorithm),
    )


def work_on(target: Target, plan: Plan) -> KernelWork:
    """The same with what computes most of the operations on a target."""
    work = work_of(plan)
    unit = max(work.operations, key=work.operations.__getitem__, default="")
    return replace(work, instruction=_instructions(plan, target).get(unit, unit))


def _instructions(plan: Plan, target: Target) -> dict[str, str]:
    """The names of the instructions of products, by the units that count their operations."""
    named = {each.pattern.name: each.mnemonic for each in target.intrinsics}
    for nest in plan.nests:
        words = word_pattern(nest)
        usable = (each.mnemonic for each in target.dot_products if each.pattern == words)
        if words is not None and (mnemonic := next(usable, "")):
            named[words.unit] = mnemonic
    return {unit: mnemonic for unit, mnemonic in named.items() if mnemonic}


def plan_operations(plan: Plan) -> int:
    """Arithmetic operations of all nests."""
    return sum(_operations_by_unit(plan).values())


def nest_operations(nest: Nest) -> int:
    """Arithmetic operations: one for each point, two for each product that is summed."""
    match = intrinsic_match(nest)
    if match is not None:
        return nest.points * match.operations
    words = word_pattern(nest)
    if words is not None:
        return nest.points * 2 * words.group
    is_product = isinstance(nest.body, Binary) and nest.body.operation == "mul"
    return nest.points * (2 if nest.operation == "sum" and is_product else 1)


def word_pattern(nest: Nest) -> WordPattern | None:
    """What a nest computes of words in each step; None where that is none."""
    if nest.operation != "sum" or not isinstance(nest.body, Binary):
        return None
    return next((each for each in WORD_PATTERNS if each.name == nest.body.operation), None)


def plan_bytes(plan: Plan) -> int:
    """The bytes of all inputs, constants and outputs, as far as they are read or written.

    Of a table of which few rows are taken, it is those rows.
    """
    program = plan.program
    read = _elements_read(plan)
    given = (*program.inputs, *(tensor for tensor, _ in program.constants))
    taken = sum(
        min(_elements(tensor), nominal(read.get(tensor, _elements(tensor))))
        * DTYPES[tensor.dtype].itemsize
        for tensor in given
    )
    stored = sum(_elements(each) * DTYPES[each.dtype].itemsize for each in program.outputs)
    return taken + stored


def _elements_read(plan: Plan) -> dict[Tensor, int]:
    """How many elements the nests read of each tensor at most; nothing of what procedures read."""
    whole = {
        tensor
        for step in plan.steps
        if isinstance(step, ProcedureOutput)
        for tensor in step.procedure.inputs
    }
    found: Counter[Tensor] = Counter()
    for nest, times in zip(plan.nests, plan.repeats, strict=True):
        results = prod(axis.extent for axis in nest.axes)
        for root in nest.roots:
            points = nest.points if root is nest.body else results
            for load in loads(root):
                if isinstance(load.tensor, FlatView):
                    found[load.tensor.viewed] += points * (times or 1)
    return {tensor: count for tensor, count in found.items() if tensor not in whole}


def _elements(tensor: Tensor) -> int:
    return prod(nominal(extent) for extent in tensor.shape)


def _operations_by_unit(plan: Plan) -> dict[str, int]:
    """The operations of all nests by what computes them."""
    found: Counter[str] = Counter()
    for nest, times in zip(plan.nests, plan.repeats, strict=True):
        found[_unit(nest)] += nominal(nest_operations(nest) * (times or 1))
    return dict(found)


def _unit(nest: Nest) -> str:
    """What computes a nest: an intrinsic, or the instructions for its type.

    Products of bytes count as `int8`. Of an elementwise nest it is the widest type that it reads or
    stores: what it makes of an int8 or a bfloat16 it computes in float32.
    """
    match = intrinsic_match(nest)
    if match is not None:
        return match.unit
    words = word_pattern(nest)
    if words is not None:
        return words.unit
    if nest.body is None:
        types = [nest.target.dtype, *(load.dtype for load in loads(nest.result))]
        return max(types, key=lambda dtype: DTYPES[dtype].itemsize)
    read = {load.dtype for load in loads(nest.body)}
    return "int8" if read and read <= BYTE_TYPES else nest.body.dtype


def rough_cycles(work: KernelWork, machine: Machine) -> float:
    """About what a kernel takes: operations by what computes them, and bytes from memory."""
    arithmetic = sum(n / _in_a_cycle(unit, machine) for unit, n in work.operations.items())
    return machine.coefficients.kernel + arithmetic + work.bytes / machine.main.rate


def _in_a_cycle(unit: str, machine: Machine) -> float:
    """The operations of a cycle on a unit: an intrinsic, or vectors of four bytes or more each."""
    for intrinsic in machine.intrinsics:
        if intrinsic.pattern.name == unit:
            tile = intrinsic.pattern
            taken = intrinsic.costs.operands * intrinsic.cycles
            return 2 * tile.rows * tile.columns * tile.steps / taken
    vectors = machine.vectors
    size = max(DTYPES[unit].itemsize, 4) if unit in DTYPES else 4
    return 2 * vectors.fused_per_cycle * vectors.bytes / size
