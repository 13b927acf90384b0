"""Operators that stand for what Python decides by the types of values.

Python says `x[i]`, `a @ b`, `len(x)` and `x + 1` for values of many types. The translation does not
know types, so it calls operators of its own; their types are found with all others, and `resolve`
then puts in their place what they mean for these types.

    x[0]     of a tuple  x.0            of a tensor  take(x, 0, axis=0)     of a list  @nth(x, 0)
    x + 1    with x: float16            add(x, 1f16)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from relay_tune.errors import RelayError
from relay_tune.frontend.python.index import index_meaning
from relay_tune.ir.expr import Attributes, Call, Expr, Function, GlobalVar, Let, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator, RelationContext, RelationError
from relay_tune.ir.traversal import rewrite_with_original
from relay_tune.ir.types import TensorType, Type, TypeCall
from relay_tune.op.creation import shape_of
from relay_tune.op.division import divide
from relay_tune.op.indexing import take
from relay_tune.op.nn.matmul import batch_matmul, dense, matmul
from relay_tune.op.shape import expand_dims, squeeze, transpose
from relay_tune.quick_dataclass import dataclass
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_expr
from relay_tune.typing.type_terms import holes
from relay_tune.typing.type_text import type_text

Meaning = Callable[[Any, Sequence[Expr], Sequence[Type]], Expr]
"""meaning(attributes, arguments, their types) -> the expression; raises RelationError."""


@dataclass(frozen=True)
class NumberAttributes(Attributes):
    """The number that was written."""

    value: float | int = 0


@dataclass(frozen=True)
class IndexAttributes(Attributes):
    """The entries between the brackets, see `relay_tune.frontend.python.index`."""

    items: tuple[Any, ...] = ()


@dataclass(frozen=True)
class EinsumAttributes(Attributes):
    """The equation."""

    equation: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Deferred(Operator):
    """An operator that means another expression once the types of its arguments are known."""

    meaning: Meaning | None = None


def _deferred(
    name: str, arguments: tuple[str, ...], meaning: Meaning, attributes: type[Attributes]
) -> Deferred:
    def relation(inputs: Sequence[Type], given: Any, context: RelationContext) -> Type | None:
        if any(True for type_ in inputs for _ in holes(type_)):
            return None
        variables = [Var(f"x{index}", type_) for index, type_ in enumerate(inputs)]
        expr = meaning(given, variables, inputs)
        try:
            return infer_expr(expr, prelude()).type
        except RelayError as error:
            raise RelationError(error.message, label=error.label, remedy=error.remedy) from error

    def reference(*_: object) -> object:
        raise RelayError(f"{name} has no value before its types are known.")

    return Deferred(
        name, arguments, relation, FusionKind.OPAQUE, reference, attributes, meaning=meaning
    )


def _number(attributes: NumberAttributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """The number in the element type of the tensor that it is combined with."""
    (type_,) = types
    if not isinstance(type_, TensorType):
        raise RelationError(f"a number and a value of type {type_text(type_)} do not combine")
    value = attributes.value
    if isinstance(value, float) and "float" not in type_.dtype:
        raise RelationError(
            f"the number {value} and a tensor of {type_.dtype} do not combine",
            label=f"this is {type_.dtype}",
            remedy='Convert the tensor, such as x.astype("float32").',
        )
    return constant(value, type_.dtype)


def _matmul(attributes: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """Products of matrices, of vectors and rows with matrices, and of batches of matrices."""
    left, right = arguments
    ranks = tuple(len(t.shape) if isinstance(t, TensorType) else -1 for t in types)
    if ranks == (3, 3):
        return batch_matmul(left, right, transpose_b=False)
    if ranks[1] == 2 and ranks[0] >= 2:
        if isinstance(right, Call) and right.callee is transpose:
            return dense(left, right.arguments[0])
        return matmul(left, right) if ranks[0] == 2 else dense(left, transpose(right))
    if 1 in ranks and min(ranks) > 0 and max(ranks) <= 2:
        return _product_with_vector(left, right, ranks)
    found = " and ".join(type_text(type_) for type_ in types)
    raise RelationError(
        f"`@` multiplies matrices, not {found}",
        remedy="Give both two dimensions with reshape or expand_dims.",
    )


def _product_with_vector(left: Expr, right: Expr, ranks: tuple[int, ...]) -> Expr:
    """A vector is a row on the left, a column on the right; the result does not have its axis."""
    rows = expand_dims(left, axis=0) if ranks[0] == 1 else left
    columns = expand_dims(right, axis=1) if ranks[1] == 1 else right
    extra = tuple(axis for axis, rank in enumerate(ranks) if rank == 1)
    return squeeze(matmul(rows, columns), axis=extra)


def _length(attributes: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """The length of a list, or of the first axis of a tensor."""
    (value,), (type_,) = arguments, types
    if isinstance(type_, TypeCall):
        return Call(GlobalVar("length"), (value,))
    if isinstance(type_, TensorType) and type_.shape:
        return take(shape_of(value), constant(0), axis=0)
    raise RelationError(f"a value of type {type_text(type_)} has no length")


def _divide(attributes: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """Division of floats; `/` of integers is no integer in Python."""
    for type_ in types:
        if isinstance(type_, TensorType) and "float" not in type_.dtype:
            raise RelationError(
                f"`/` divides floats, not {type_.dtype}",
                label=f"this is {type_.dtype}",
                remedy='Write // for whole numbers, or convert with .astype("float32").',
            )
    left, right = arguments
    return divide(left, right)


def _einsum(attributes: EinsumAttributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """Products, sums and transposes, as the importer of ONNX makes them.

    It is imported here, since programs without einsum need nothing of ONNX.
    """
    for type_ in types:
        if not isinstance(type_, TensorType):
            raise RelationError(f"einsum multiplies tensors, not {type_text(type_)}")
    variables = [Var(f"factor{index}", type_, type=type_) for index, type_ in enumerate(types)]
    einsum = import_module("relay_tune.frontend.onnx_import.operators.einsum").einsum
    try:
        body: Expr = einsum(variables, attributes.equation)
    except RelayError as error:
        raise RelationError(
            error.message.rstrip("."),
            label=error.label,
            remedy="Give each axis of each tensor a letter, and axes of one letter one size.",
        ) from error
    for variable, argument in zip(reversed(variables), reversed(arguments), strict=True):
        body = Let(variable, argument, body)
    return body


NUMBER = _deferred("number", ("like",), _number, NumberAttributes)
MATMUL = _deferred("@", ("left", "right"), _matmul, Attributes)
LENGTH = _deferred("len", ("value",), _length, Attributes)
DIVIDE = _deferred("/", ("left", "right"), _divide, Attributes)


@cache
def einsum_operator(tensors: int) -> Deferred:
    """`np.einsum` of that many tensors."""
    names = tuple(f"factor{index}" for index in range(tensors))
    return _deferred("einsum", names, _einsum, EinsumAttributes)


@cache
def index_operator(indices: int) -> Deferred:
    """`value[...]` with that many indices that are known when the program runs only."""
    names = tuple(f"index{index}" for index in range(indices))
    return _deferred("index", ("value", *names), index_meaning, IndexAttributes)


def resolve(module: Module) -> Module:
    """The typed module with the deferred operators replaced by what they mean."""
    functions: dict[str, Function] = {}
    for name, function in module.functions.items():
        resolved = rewrite_with_original(function, _meant)
        functions[name] = resolved if isinstance(resolved, Function) else function
    return replace(module, functions=functions)


def _meant(original: Expr, rebuilt: Expr) -> Expr:
    if not isinstance(rebuilt, Call) or not isinstance(rebuilt.callee, Deferred):
        return rebuilt
    assert isinstance(original, Call) and rebuilt.callee.meaning is not None
    types = [argument.type for argument in original.arguments if argument.type is not None]
    meant = rebuilt.callee.meaning(rebuilt.attributes, rebuilt.arguments, types)
    return meant if isinstance(meant, Var) else replace(meant, span=original.span)
