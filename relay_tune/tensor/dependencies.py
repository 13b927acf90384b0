"""Which tensors a tensor is computed from; walks that do not recurse, however deep the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.remembered import remembered
from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.tensor import Computed, ProcedureOutput, stored
from relay_tune.tensor.walk import operands

REMEMBERED = 4096
"""Tensors whose sources are kept: plans under each algorithm walk over the same ones."""


def scalar_nodes(root: Scalar) -> Iterator[Scalar]:
    """Every node of a scalar expression once, parents before their operands."""
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for operand in reversed(operands(node)):
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)


@remembered(REMEMBERED)
def dependencies(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors that `tensor` reads directly, each once."""
    match tensor:
        case Computed():
            nodes = scalar_nodes(tensor.body)
            read = (stored(node.tensor) for node in nodes if isinstance(node, Load))
            return tuple(dict.fromkeys(read))
        case ProcedureOutput():
            return tuple(dict.fromkeys(tensor.procedure.inputs))
        case _:
            return ()


def tensors_in_order(outputs: Sequence[Tensor]) -> list[Tensor]:
    """All tensors that `outputs` depend on and themselves, each once, producers first."""
    order: dict[Tensor, None] = {}
    entered: set[Tensor] = set()
    stack = list(reversed(outputs))
    while stack:
        tensor = stack[-1]
        if tensor in entered:
            stack.pop()
            order.setdefault(tensor)
            continue
        entered.add(tensor)
        stack += [source for source in reversed(dependencies(tensor)) if source not in entered]
    return list(order)
