"""Which numbers of elements must be equal where types do not tell.

    fn (%a: Tensor[(s0, 3), float32], %b: Tensor[(s1, s2), float32]) {
        %0 = reshape_like(%a, %b);
        split(%0, indices_or_sections=4)
    }
    asks for    s0 * 3 = s1 * s2    and    s1 * s2 = 4 * (s1 // 4) * s2

A primitive checks it when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.op.lower import composed_function
from relay_tune.op_rules.matching import attributes_of
from relay_tune.program.kinds import tensors_of, type_of

Counts = tuple[Dim, Dim]
"""Two numbers of elements."""


def element_counts(function: Function) -> tuple[Counts, ...]:
    """The numbers of elements that operators of a typed primitive ask to be equal."""
    pairs = dict.fromkeys(_counts(function))
    return tuple(pair for pair in pairs if UNKNOWN not in pair and pair[0] != pair[1])


def _counts(function: Function) -> Iterator[Counts]:
    for node in post_order(function.body):
        if not isinstance(node, Call) or not isinstance(node.callee, Operator):
            continue
        operator = node.callee
        if operator.element_counts is not None:
            inputs = [tensor for each in node.arguments for tensor in tensors_of(type_of(each))]
            outputs = list(tensors_of(type_of(node)))
            yield operator.element_counts(attributes_of(node), inputs, outputs)
        elif operator.compute is None and operator.composition is not None:
            yield from _counts(composed_function(node, operator, operator.composition))
