"""How a program reads its inputs, where products round their factors to bfloat16.

    y[m, o] = sum(k) max(x[m, k] + b[k], 0) * w[k, o] + r[m, o]

Before it is a factor, `x` passes through functions of each element; `r` is added to a result. Both
may be bfloat16 in memory, for all is computed in float32: `x` is rounded anyway, and `r` passes on.
What is summed otherwise, as the statistics of a normalization, keeps the digits of float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from relay_tune.machine.machine import Machine
from relay_tune.schedule.accuracy import Accuracy, is_allowed
from relay_tune.schedule.rewrites.algorithm import Algorithm
from relay_tune.schedule.rewrites.table import ALGORITHMS
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.expression import Cast, Literal, Load, Reduce, Scalar, Select, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array, is_float
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, loads, sub_expressions

DROPPED = np.uint32(0xFFFF)
"""The bits of a float32 that bfloat16 drops."""


class Reading(Enum):
    """What a program does with an input.

    Attributes:
        ROUNDED: it is a factor of products, perhaps after functions of each element.
        PASSED: results are functions of some of its elements.
        EXACT: anything else, which needs all digits.
    """

    ROUNDED = "rounded"
    PASSED = "passed"
    EXACT = "exact"


def rounding_algorithms(machine: Machine, accuracy: Accuracy) -> list[Algorithm]:
    """Those of rounded factors that may be chosen on a machine."""
    known = (each for each in ALGORITHMS if each.rounds is not None and each.needs(machine))
    return [each for each in known if is_allowed(each.exactness, accuracy)]


def readings(program: TensorProgram, algorithms: Sequence[Algorithm]) -> dict[Tensor, Reading]:
    """What a program does with each of its inputs of float32, under algorithms that round."""
    wanted = [each for each in program.inputs if each.dtype == "float32"]
    carried: dict[Tensor, frozenset[Tensor]] = {each: frozenset([each]) for each in wanted}
    found: dict[Tensor, Reading] = dict.fromkeys(wanted, Reading.PASSED)
    constants = dict[Tensor, ConstantData](program.constants)
    for tensor in tensors_in_order(program.outputs):
        sources = (carried.get(source, frozenset()) for source in dependencies(tensor))
        read = frozenset[Tensor]().union(*sources)
        if any(each.rounds is not None and each.rounds(tensor, constants) for each in algorithms):
            rounded = (each for each in read if found[each] is not Reading.EXACT)
            found |= dict.fromkeys(rounded, Reading.ROUNDED)
        elif _is_of_each(tensor):
            carried[tensor] = read
        else:
            found |= dict.fromkeys(read, Reading.EXACT)
    return found


def is_narrow_result(tensor: Tensor) -> bool:
    """Whether all elements of a tensor of float32 are numbers that bfloat16 has."""
    return isinstance(tensor, Computed) and _is_narrow(tensor.body)


def _is_narrow(value: Scalar) -> bool:
    match value:
        case Cast(operand=before):
            return before.dtype == "bfloat16"
        case Literal(value=number):
            return not is_symbolic(number) and are_narrow(np.asarray(number, np.float32))
        case Select(if_true=one, if_false=other):
            return _is_narrow(one) and _is_narrow(other)
        case Load(tensor=source):
            return is_narrow_result(source)
        case _:
            return False


def are_narrow(numbers: Array) -> bool:
    """Whether bfloat16 holds numbers of float32 as they are."""
    return not (np.ascontiguousarray(numbers).view(np.uint32) & DROPPED).any()


def _is_of_each(tensor: Tensor) -> bool:
    """Whether elements of a stage are functions of few elements, of floats: one, or a window."""
    if not isinstance(tensor, Computed):
        return False
    body = tensor.body
    if isinstance(body, Reduce):
        axes = (axes_of(index) for load in loads(body.body) for index in load.indices)
        summed = set(body.axes)
        return all(summed.isdisjoint(used) or not summed.issuperset(used) for used in axes)
    casts = (node for node in sub_expressions(body) if isinstance(node, Cast))
    return all(is_float(each.dtype) or not is_float(each.operand.dtype) for each in casts)
