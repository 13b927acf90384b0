"""Evaluate at build time what depends on constants only.

before: add(%x, multiply(meta[Constant][0], 2f))
after:  add(%x, meta[Constant][0])        the product

Weights in narrow types that a product or a lookup reads stay as they are stored, where converting
them is all that there is to do (`relay_tune.op_rules.fold.stored`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import ClassVar

import numpy as np

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Call, Constant, Expr, Function, If, Tuple, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.elements import integer_shape
from relay_tune.op_rules.fold.stored import is_stored, kept_conversions
from relay_tune.op_rules.fold.values import value_from_type
from relay_tune.op_rules.indices.uses import require_valid_indices
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.op_rules.typed import constant_of, resolved_item, tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_functions, with_body
from relay_tune.typing.infer import infer_types

BYTES_IN_A_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class FoldConstants:
    """Folds calls of operators on constants, shapes of static types, and decided branches.

    Fields:
        maximum_growth: a result may be larger than what it is computed from by so many MiB,
            each in bytes of its own element type.
        keep: operators that are never folded.
    """

    name: ClassVar[str] = "fold_constants"
    maximum_growth: int = 64
    keep: frozenset[str] = frozenset()

    def __call__(self, module: Module) -> Module:
        """The module with constants folded.

        A constant tells sizes that the type of its call left open; types and constants that follow
        from them are found in another round.
        """
        told: list[Expr] = []
        folded = map_functions(module, lambda function: self._with_folded(function, told))
        return self(infer_types(folded)) if told else folded

    def _with_folded(self, function: Function, told: list[Expr]) -> Function:
        """A function with constants folded; `told` are those that tell the sizes of open types."""

        def folded(node: Expr) -> Expr:
            found = self.folded(node)
            if isinstance(found, Constant) and _has_open_size(node.type):
                told.append(found)
            return found

        def all_but_stored(node: Expr) -> Expr:
            return node if is_stored(node) else folded(node)

        body = _rewritten(function.body, all_but_stored)
        kept = kept_conversions(body)

        def all_but_kept(node: Expr) -> Expr:
            return node if node in kept else folded(node)

        return with_body(function, _rewritten(body, all_but_kept))

    def folded(self, node: Expr) -> Expr:
        """What the very node comes to, its children being folded; the node if that is not known."""
        match node:
            case Call():
                return self._folded_call(node)
            case TupleGetItem():
                return resolved_item(node)
            case If(condition=Constant(data=decided)):
                return node.true_branch if bool(decided) else node.false_branch
            case _:
                return node

    def _folded_call(self, node: Call) -> Expr:
        operator = node.callee
        if not isinstance(operator, Operator) or operator.stateful or operator.name in self.keep:
            return node
        from_type = value_from_type(node)
        if from_type is not None:
            return constant_of(from_type)
        values = [_constant_value(argument) for argument in node.arguments]
        known = [value for value in values if value is not None]
        if len(known) != len(values) or self._grows_too_much(node):
            return node
        require_valid_indices(node, known)
        attributes = node.attributes if node.attributes is not None else operator.attributes()
        with np.errstate(all="ignore"):  # inf and NaN are values like others
            return _as_expression(operator.reference(attributes, *known))

    def _grows_too_much(self, node: Call) -> bool:
        inputs = sum(_bytes_of(argument) for argument in node.arguments)
        result = 0 if node.type is None else _bytes_of_type(node.type)
        return result - inputs > self.maximum_growth * BYTES_IN_A_MEBIBYTE


def _rewritten(body: Expr, visit: Callable[[Expr], Expr]) -> Expr:
    return rewrite(body, visit, enter=lambda node: not is_opaque_function(node))


_Folded = np.ndarray | tuple["_Folded", ...]


def _constant_value(expr: Expr) -> _Folded | None:
    """The value of a constant or of a (nested, written out) tuple of constants."""
    if isinstance(expr, Constant):
        return expr.data
    if not isinstance(expr, Tuple):
        return None
    fields = [_constant_value(field) for field in expr.fields]
    known = tuple(field for field in fields if field is not None)
    return known if len(known) == len(fields) else None


def _as_expression(value: object) -> Expr:
    if isinstance(value, tuple | list):
        return tuple_of([_as_expression(part) for part in value])
    return constant_of(np.asarray(value))


def _has_open_size(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and any(dim == UNKNOWN for dim in type_.shape)


def _bytes_of_type(type_: Type) -> int:
    """The bytes of a value of a type; 0 where they are not known before it is computed."""
    match type_:
        case TupleType():
            return sum(_bytes_of_type(field) for field in type_.fields)
        case TensorType() if all(isinstance(dim, int) for dim in type_.shape):
            return prod(integer_shape(type_)) * DTYPES[type_.dtype].itemsize
        case _:
            return 0


def _bytes_of(expr: Expr) -> int:
    if isinstance(expr, Tuple):
        return sum(_bytes_of(field) for field in expr.fields)
    return expr.data.nbytes if isinstance(expr, Constant) else 0
