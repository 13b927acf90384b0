"""What two nests have in common that cost the same under the same choice.

Networks repeat layers: the transforms and the products of a convolution are the same nests whatever
is done to its result. Tensors and axes are numbered where they first occur, names do not count.
"""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import sha256

from relay_tune.schedule.cost.near import Near
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis, Literal, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.walk import operands, sub_expressions


def nest_structure(nest: Nest, constants: frozenset[Tensor], near: Near) -> bytes:
    """A digest that is equal for nests of the same form, accesses and surroundings."""
    axes = {axis: number for number, axis in enumerate((*nest.axes, *nest.reduction))}
    numbers: dict[Scalar, int] = {}
    tensors: dict[Tensor, int] = {}
    nodes: list[Hashable] = []
    for node in sub_expressions(*nest.roots):
        about: Hashable = getattr(node, "operation", None)
        match node:
            case Axis():
                about = axes.setdefault(node, len(axes)), node.extent
            case Literal():
                about = repr(node.value)
            case Load():
                about = tensors.setdefault(node.tensor, len(tensors))
        inner = tuple(numbers[operand] for operand in operands(node))
        nodes.append((type(node).__name__, node.dtype, about, inner))
        numbers[node] = len(numbers)
    tensors.setdefault(nest.target, len(tensors))
    structure = (
        tuple(axis.extent for axis in nest.axes),
        tuple(axis.extent for axis in nest.reduction),
        (nest.operation, nest.pattern and nest.pattern.name, tensors[nest.target]),
        tuple(numbers[root] for root in nest.roots),
        tuple(nodes),
        tuple(_described(tensor, constants, near) for tensor in tensors),
        (near.bytes, near.repeats, near.siblings, near.joined),
    )
    return sha256(repr(structure).encode()).digest()


def _described(tensor: Tensor, constants: frozenset[Tensor], near: Near) -> Hashable:
    is_constant = isinstance(tensor, FlatView) and tensor.viewed in constants
    return type(tensor).__name__, tensor.shape, tensor.dtype, is_constant, tensor in near.tensors
