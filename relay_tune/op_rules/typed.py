"""Building expressions inside passes: operator calls by name, their types filled in at once.

Passes work on typed graphs and keep them typed: a new call asks its operator's relation for its
type, with the argument types as they are, so no pass has to wait for inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relay_tune.errors import BuildError
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import subtract
from relay_tune.ir.expr import Attributes, Call, Constant, Expr, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.matching import tensor_type
from relay_tune.typing.relations.slice_sizes import OPEN_END


class _KnownTypes:
    """A relation context in which nothing is left to solve."""

    def unify(self, left: Type, right: Type) -> Type:
        """The left type; the program was typed before, so both agree."""
        return left

    def resolve(self, type_: Type) -> Type:
        """The type itself."""
        return type_


_KNOWN_TYPES = _KnownTypes()


def call(name: str, *arguments: Expr, **attributes: Any) -> Call:
    """A typed call of the operator `name`; BuildError if there is no such operator."""
    operator = find_operator(name)
    if operator is None:
        raise BuildError(
            f"A pass needs the operator {name}, which is not registered.",
            remedy="Import relay_tune.op, which registers all operators.",
        )
    return call_operator(operator, arguments, operator.attributes(**attributes))


def reshape(data: Expr, shape: Sequence[int]) -> Call:
    """`data` in a shape, of which one size may be -1: whatever is left of the elements.

    A size 0 is a size here, not the code that copies one.
    """
    return call("reshape", data, newshape=tuple(shape), allowzero=0 in shape)


def slice_of(data: Expr, begin: Sequence[int], end: Sequence[Dim]) -> Call:
    """The box [begin, end) of `data`; axes of unknown size are whole.

    An end that is dynamic lies a fixed number of elements before that of its axis.
    """
    type_ = tensor_type(data)
    sizes = end if type_ is None else type_.shape
    bounds = {
        axis: bound
        for axis, (first, stop, size) in enumerate(zip(begin, end, sizes, strict=True))
        if (bound := _end_of_slice(first, stop, size)) is not None
    }
    return call(
        "strided_slice",
        data,
        begin=tuple(begin[axis] for axis in bounds),
        end=tuple(bounds.values()),
        strides=(1,) * len(bounds),
        axes=tuple(bounds),
    )


def _end_of_slice(begin: int, stop: Dim, size: Dim) -> int | None:
    """The attribute `end` of a slice of an axis; None where the axis is whole."""
    if isinstance(stop, int):
        return stop
    if begin == 0 and stop == size:
        return None
    behind = subtract(size, stop)
    if not isinstance(behind, int):
        raise BuildError(
            f"A pass slices an axis of {size} elements up to {stop}.",
            remedy="Slice it up to a number, or a fixed number of elements before its end.",
        )
    return -behind or OPEN_END


def call_operator(
    operator: Operator, arguments: Sequence[Expr], attributes: Attributes | None
) -> Call:
    """A typed call of `operator`."""
    new = Call(operator, tuple(arguments), attributes)
    return replace(new, type=_call_type(new))


def recall(original: Call, arguments: Sequence[Expr], **changes: Any) -> Call:
    """`original` with other arguments, some attributes changed, and the type that results."""
    attributes = original.attributes
    if changes and attributes is not None:
        attributes = replace(attributes, **changes)
    new = replace(original, arguments=tuple(arguments), attributes=attributes)
    return replace(new, type=_call_type(new))


def constant_of(data: np.ndarray) -> Constant:
    """A typed constant."""
    return Constant(data, type=TensorType(data.shape, str(data.dtype)))


def tuple_of(fields: Sequence[Expr]) -> Tuple:
    """A typed tuple."""
    new = Tuple(tuple(fields))
    return replace(new, type=_type_of(new))


def resolved_item(node: TupleGetItem) -> Expr:
    """The field that `node` takes of a tuple that is written out; else `node` itself."""
    whole = node.tuple_value
    return whole.fields[node.index] if isinstance(whole, Tuple) else node


def with_types(root: Expr) -> Expr:
    """`root` with types on all calls, constants and tuples that have none yet."""

    def visit(node: Expr) -> Expr:
        if node.type is not None:
            return node
        type_ = _type_of(node)
        return node if type_ is None else replace(node, type=type_)

    return rewrite(root, visit, enter=lambda node: node.type is None)


def _type_of(node: Expr) -> Type | None:
    match node:
        case Constant():
            return TensorType(node.data.shape, str(node.data.dtype))
        case Var():
            return node.annotation
        case Tuple():
            types = [field.type for field in node.fields]
            known = tuple(type_ for type_ in types if type_ is not None)
            return TupleType(known) if len(known) == len(types) else None
        case TupleGetItem():
            whole = node.tuple_value.type
            return whole.fields[node.index] if isinstance(whole, TupleType) else None
        case Call():
            return _call_type(node)
        case _:
            return None


def _call_type(node: Call) -> Type | None:
    if not isinstance(node.callee, Operator):
        return node.type
    types = [argument.type for argument in node.arguments]
    known = [type_ for type_ in types if type_ is not None]
    if len(known) != len(types):
        return None
    return result_type(node.callee, node, known)


def result_type(operator: Operator, call: Call, types: Sequence[Type]) -> Type | None:
    """The type of a call's result for arguments of known types; RelationError if they misfit."""
    attributes = call.attributes if call.attributes is not None else operator.attributes()
    return operator.relation(types, attributes, _KNOWN_TYPES)
