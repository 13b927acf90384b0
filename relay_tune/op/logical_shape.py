"""The shape of a kernel's result as the user's program has it.

Passes order axes in another way and add margins for the kernels that read a result. The span of a
call has the shape of before (`relay_tune.transform.note_shapes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from relay_tune.ir.expr import Call, Expr, Function, Let, Tuple
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType, TupleType, Type

Shape = tuple[object, ...]
"""The dimensions of a tensor."""


def logical_shape(function: Function) -> Shape | None:
    """The shape of the first result of a primitive, in the order of axes that the user knows.

    It is the shape in memory where no span tells another one with the same sizes, as of a part of
    what the user computes. None where there is no tensor.
    """
    results = list(_results(function.body))
    shapes = [result_shape(known_type(node)) for node in results]
    for node in results:
        noted = None if node.span is None else node.span.shape
        if noted is not None and any(_same_sizes(noted, shape) for shape in shapes):
            return noted
    return result_shape(known_type(function.body))


def result_shape(type_: Type | None) -> Shape | None:
    """The shape of the first tensor of a type; None where it has none."""
    match type_:
        case TensorType():
            return type_.shape
        case TupleType():
            found = map(result_shape, type_.fields)
            return next((shape for shape in found if shape is not None), None)
        case _:
            return None


def _results(body: Expr) -> Iterator[Expr]:
    """Yield what computes the first result; where that is a margin, also what it is put around."""
    node = body
    while True:
        match node:
            case Let():
                node = node.body
            case Tuple(fields=(first, *_)):
                node = first
            case Call(callee=Operator(name="nn.pad")):
                yield node
                node = node.arguments[0]
            case _:
                yield node
                return


def _same_sizes(noted: Shape, shape: Shape | None) -> bool:
    """Whether two shapes differ by the order of axes, and by axes of size 1, only."""
    return shape is not None and _sizes(noted) == _sizes(shape)


def _sizes(shape: Shape) -> Counter[str]:
    return Counter(str(dim) for dim in shape if dim != 1)
