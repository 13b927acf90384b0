"""Building typed expressions, one operator call at a time.

Every expression that the builder returns carries its type, found by the relation of its operator
from the types of the arguments, so the cost of typing a model is linear. A call on small constants
is computed at once: this is what turns shape computations of a model into plain numbers. Floats
that are made of weights of the file stay calls, so that the weights can be trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import relay_tune.op  # noqa: F401  (enters all operators into the table)
from relay_tune.errors import FIX_SIZES, ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.branch_ranks import BranchRanks
from relay_tune.frontend.onnx_import.folding import (
    LARGEST_FOLDED_TENSOR,
    constant_value,
    deferred_value,
    is_foldable,
    is_of_floats,
    is_of_weights,
    known_value,
    of_file,
)
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, NarrowType
from relay_tune.frontend.onnx_import.result_type import result_type, with_open_sizes
from relay_tune.frontend.onnx_import.types import numpy_dtype
from relay_tune.ir.dim import UNKNOWN, Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import symbols
from relay_tune.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import Operator, RelationError, find_operator
from relay_tune.ir.traversal import children, free_vars
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.indices.uses import require_valid_indices
from relay_tune.typing.type_text import type_text

LARGEST_CONSTANT_BYTES = 1 << 30
"""Of one tensor that the import makes."""

ALL_CONSTANT_BYTES = 1 << 30
"""Of all of them together."""

_SHAPE_OF = find_operator("shape_of")


class RunTimeValueError(UnsupportedOperatorError):
    """A value that is needed when the model is imported, but is known only when it runs.

    Attributes:
        value: the value.
        inputs: the names of the inputs of the model that it depends on, which the importer adds.
    """

    def __init__(self, what: str, value: Expr) -> None:
        super().__init__(
            f"{what} is computed at run time; it is supported only if it is constant.",
            remedy=f"{FIX_SIZES} Values are given with --constant NAME=VALUE, or "
            "from_onnx(model, constants={'name': value}).",
        )
        self.value = value
        self.inputs: tuple[str, ...] = ()


class Builder:
    """Makes typed expressions for one model.

    Attributes:
        symbolic: for integer tensors that are made from shapes, what is known of their elements: an
            array of dimensions (numbers and symbols).
        narrow: what the elements of tensors stand for that store a type of at most 8 bits.
        sized: for symbolic sizes, the first tensor that has one, and its axis.
        shaped: for shapes with symbolic sizes, the first tensor that has it.
        annotated: variables for tensors with other sizes than their types tell.
        branch_ranks: which ranks results of branches have that differ in rank.
    """

    def __init__(self, branch_ranks: BranchRanks | None = None) -> None:
        self.branch_ranks = BranchRanks() if branch_ranks is None else branch_ranks
        self.symbolic: dict[Expr, np.ndarray] = {}
        self.sized: dict[Dim, tuple[Expr, int]] = {}
        self.narrow: dict[Expr, NarrowType] = {}
        self.shaped: dict[tuple[Dim, ...], Expr] = {}
        self.annotated: dict[tuple[Expr, TensorType], Var] = {}
        self._bound: list[tuple[Var, Expr]] = []
        self._values: dict[Var, Expr] = {}
        self._constant_bytes = 0

    def note_sizes(self, value: Expr | None) -> None:
        """Remember which symbolic sizes a tensor has."""
        if value is None or not isinstance(value.type, TensorType):
            return
        shape = value.type.shape
        for axis, dim in enumerate(shape):
            if isinstance(dim, Symbol | Polynomial):
                self.sized.setdefault(dim, (value, axis))
        if not any(isinstance(dim, UnknownDim) for dim in shape):
            self.shaped.setdefault(shape, value)

    def with_shape(self, value: Expr, shape: Sequence[Dim]) -> Expr:
        """A tensor with sizes that its type does not tell; they are checked when it is computed.

        A name that becomes another size is forgotten first: types with both would not fit.
        """
        type_ = TensorType(tuple(shape), dtype_of(value))
        if type_ == value.type:
            return value
        known = self.annotated.get((value, type_))
        if known is not None:
            return known
        pairs = list(zip(shape_of(value), shape, strict=True))
        if any(UNKNOWN not in pair and pair[0] != pair[1] for pair in pairs):
            value = self.with_shape(value, [old if old == new else UNKNOWN for old, new in pairs])
        var = self._variable(value, type_)
        self.annotated[value, type_] = var
        self.note_sizes(var)
        return var

    def once(self, value: Expr) -> Expr:
        """A value that is computed in this scope, though only functions inside of it may read it.

        Each call of such a function would compute it otherwise. What is made of constants alone,
        and sizes, which are known by other ways, stay as they are, but for sizes of tensors that
        are computed: passes would have the function compute such a tensor for its size.
        """
        if isinstance(value, Var) or value in self.narrow or not free_vars(value):
            return value
        if value not in self.symbolic:
            return self._variable(value, None)
        if not _reads_computed_shape(value):
            return value
        var = self._variable(value, None)
        self.symbolic[var] = self.symbolic[value]
        return var

    def value_of(self, value: Expr) -> Expr:
        """What a variable of this scope stands for; any other value itself."""
        while isinstance(value, Var) and value in self._values:
            value = self._values[value]
        return value

    def _variable(self, value: Expr, annotation: TensorType | None) -> Var:
        """A variable of this scope."""
        var = Var(f"v{len(self._bound)}", annotation, type=annotation or value.type)
        self._bound.append((var, value))
        self._values[var] = value
        return var

    @contextmanager
    def scope(self) -> Iterator[Callable[[Expr], Expr]]:
        """The scope of a branch or of a function; what it gives binds the variables of a body.

        What is remembered inside of it is forgotten at its end. Sizes of tensors that are computed
        around it are arithmetic of the sizes of variables there: a function that reads the shape of
        such a tensor would compute the tensor in each of its calls.
        """
        outer = self._bound, self.sized, self.shaped, self.annotated
        sized = self.sized.items()
        self.sized = {dim: at for dim, at in sized if not self._is_arithmetic(dim, at[0])}
        self.shaped = {dims: data for dims, data in self.shaped.items() if isinstance(data, Var)}
        self._bound, self.annotated = [], dict(self.annotated)
        try:
            yield self.binding
        finally:
            self._bound, self.sized, self.shaped, self.annotated = outer

    def _is_arithmetic(self, dim: Dim, data: Expr) -> bool:
        """Whether the size of a tensor that is no variable follows from sizes of variables."""
        known = (self.sized.get(symbol) for symbol in symbols(dim))
        return not isinstance(data, Var) and all(at and isinstance(at[0], Var) for at in known)

    def binding(self, body: Expr) -> Expr:
        """`body` inside of the variables of this scope."""
        for var, value in reversed(self._bound):
            body = Let(var, value, body, type=body.type, span=var.span)
        return body

    def inputs_of(self, value: Expr) -> tuple[str, ...]:
        """The names of the parameters that a value depends on."""
        found: dict[Var, None] = {}
        pending = list(free_vars(value))
        while pending:
            var = pending.pop(0)
            if var in self._values and var not in found:
                pending += free_vars(self._values[var])
            found[var] = None
        return tuple(var.name for var in found if var not in self._values)

    def note_element_type(self, value: Expr, number: int) -> None:
        """Remember what the elements of a tensor stand for, by ONNX's number of their type."""
        if number in NARROW_TYPES:
            self.narrow[value] = NARROW_TYPES[number]

    def call(self, name: str, *arguments: Expr, **attributes: Any) -> Expr:
        """A typed call of a Relay operator, or its value if all arguments are small constants.

        What makes floats of weights stays a call.

        Raises RelationError if the types contradict the operator's rule, and
        UnsupportedOperatorError if there is no such operator.
        """
        operator = find_operator(name)
        if operator is None:
            raise UnsupportedOperatorError(f"the operator {name} is not available.")
        record = operator(*arguments, **attributes).attributes
        try:
            result = result_type(operator, record, [type_of(each) for each in arguments])
        except RelationError:
            opened = with_open_sizes(operator, record, arguments, self.with_shape)
            if opened is None:
                raise
            arguments, result = tuple(opened[0]), opened[1]
        value_of = constant_value if is_of_floats(result) else known_value
        constants = [value_of(each) for each in arguments]
        if is_foldable(operator, constants, result) and not is_of_weights(arguments, result):
            require_valid_indices(operator(*arguments, **attributes), constants)
            found = self._folded(operator, record, constants, result)
            return of_file(found, arguments)
        return Call(operator, arguments, record, type=result)

    def deferred(self, name: str, *arguments: Expr, **attributes: Any) -> Expr:
        """A typed call that is not computed at import, since passes know more of it than of values.

        Raises what `call` raises.
        """
        operator = find_operator(name)
        if operator is None:
            raise UnsupportedOperatorError(f"the operator {name} is not available.")
        record = operator(*arguments, **attributes).attributes
        result = result_type(operator, record, [type_of(each) for each in arguments])
        return Call(operator, arguments, record, type=result)

    def _folded(self, operator: Operator, record: Any, values: list[Any], type_: Type) -> Expr:
        with np.errstate(all="ignore"):
            result = operator.reference(record, *values)
        if isinstance(type_, TupleType):
            parts = zip(result, type_.fields, strict=True)
            return self.tuple_of([self._typed_constant(part, type_) for part, type_ in parts])
        return self._typed_constant(result, type_)

    def _typed_constant(self, value: Any, type_: Type) -> Constant:
        if not isinstance(type_, TensorType):
            raise RelationError(f"a constant of type {type_text(type_)} is not supported")
        return self.constant(np.asarray(value, numpy_dtype(type_.dtype)))

    def constant(self, value: Any, dtype: str | None = None) -> Constant:
        """A constant; raises ModelError if the constants of the model grow too large."""
        array = np.asarray(value, None if dtype is None else numpy_dtype(dtype))
        self._constant_bytes += array.nbytes
        if self._constant_bytes > ALL_CONSTANT_BYTES:
            raise ModelError(
                "the constants that the model computes take more than "
                f"{ALL_CONSTANT_BYTES >> 20} MiB."
            )
        return weight(array)

    def settled(self, value: Expr) -> Expr:
        """A constant where the value is known: scales and limits, which are not trained.

        Passes that run before constants are folded ask for their numbers.
        """
        known = None if isinstance(value, Constant) else deferred_value(value)
        return value if known is None else self.constant(known, dtype_of(value))

    def filled(self, shape: Sequence[int], value: Any, dtype: str) -> Expr:
        """A constant tensor whose elements are all `value`, however large it is."""
        count = math.prod(shape)
        scalar = self.constant(value, dtype)
        if count <= LARGEST_FOLDED_TENSOR:
            return self.constant(np.full(tuple(shape), scalar.data))
        check_size(count, dtype)
        return self.call("full", scalar, shape=tuple(shape), dtype=dtype)

    def like(self, value: Any, expr: Expr) -> Constant:
        """A scalar constant of the element type of `expr`."""
        return self.constant(value, dtype_of(expr))

    def tuple_of(self, fields: Sequence[Expr]) -> Tuple:
        """A typed tuple."""
        return Tuple(tuple(fields), type=TupleType(tuple(type_of(field) for field in fields)))

    def item(self, value: Expr, index: int) -> Expr:
        """A typed field of a tuple."""
        if isinstance(value, Tuple):
            return value.fields[index]
        type_ = type_of(value)
        if not isinstance(type_, TupleType):
            raise RelationError(f"expects a tuple, but found {type_text(type_)}")
        return TupleGetItem(value, index, type=type_.fields[index])


def weight(array: np.ndarray) -> Constant:
    """A typed constant that shares the memory of `array`."""
    return Constant(array, type=TensorType(array.shape, array.dtype.name))


def type_of(expr: Expr) -> Type:
    """The type of an expression that the builder made."""
    if expr.type is None:
        raise RelationError(f"{expr!r} has no type")
    return expr.type


def tensor_type(expr: Expr) -> TensorType:
    """The tensor type of an expression; raises ModelError if it is no tensor."""
    type_ = type_of(expr)
    if not isinstance(type_, TensorType):
        raise ModelError(f"expects a tensor, but found {type_text(type_)}.")
    return type_


def shape_of(expr: Expr) -> tuple[Dim, ...]:
    """The dimensions of a tensor."""
    return tensor_type(expr).shape


def rank_of(expr: Expr) -> int:
    """The number of dimensions of a tensor."""
    return len(tensor_type(expr).shape)


def dtype_of(expr: Expr) -> str:
    """The element type of a tensor."""
    return tensor_type(expr).dtype


def static_shape(expr: Expr) -> tuple[int, ...]:
    """The sizes of a tensor, all of which must be numbers.

    Raises UnsupportedOperatorError if one is a symbol.
    """
    return tuple(static_dim(dim) for dim in shape_of(expr))


def static_dim(dim: Dim) -> int:
    """A dimension that must be a number; raises UnsupportedOperatorError if it is a symbol."""
    if isinstance(dim, int):
        return dim
    raise UnsupportedOperatorError(
        f"the size {dim} is not known, but this operator needs a number here.",
        remedy=FIX_SIZES,
    )


def is_known(expr: Expr) -> bool:
    """Whether `known_array` has a value."""
    return isinstance(expr, Constant) or 0 in shape_of(expr) or deferred_value(expr) is not None


def known_array(expr: Expr, what: str) -> np.ndarray:
    """The value of an input that is constant or empty; raises RunTimeValueError otherwise."""
    if isinstance(expr, Constant):
        return expr.data
    deferred = deferred_value(expr)
    if deferred is not None:
        return np.asarray(deferred)
    if is_known(expr):
        sizes = [dim if isinstance(dim, int) else 1 for dim in shape_of(expr)]
        return np.zeros(sizes, numpy_dtype(dtype_of(expr)))
    raise RunTimeValueError(what, expr)


def known_integers(expr: Expr, what: str) -> tuple[int, ...]:
    """The elements of a constant integer vector or scalar."""
    array = known_array(expr, what)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise ModelError(
            f"{what} must be a vector of integers, but has shape {array.shape} and type "
            f"{array.dtype}."
        )
    return tuple(int(value) for value in array.reshape(-1))


def known_integer(expr: Expr, what: str) -> int:
    """The value of a constant integer scalar, or vector of one element."""
    values = known_integers(expr, what)
    if len(values) != 1:
        raise ModelError(f"{what} must be one integer, but has {len(values)} elements.")
    return values[0]


def known_scalar(expr: Expr, what: str) -> Any:
    """The value of a constant of one element, as a Python number."""
    array = known_array(expr, what)
    if array.size != 1:
        raise ModelError(f"{what} must be one value, but has shape {array.shape}.")
    return array.reshape(-1)[0].item()


def checked_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; raises ModelError if it is out of range."""
    if not -rank <= axis < rank:
        raise ModelError(f"axis {axis} is out of range for a tensor of {rank} dimension(s).")
    return axis % rank


def checked_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front; raises ModelError if one is out of range or repeated."""
    checked = tuple(checked_axis(axis, rank) for axis in axes)
    if len(set(checked)) != len(checked):
        raise ModelError(f"the axes {tuple(axes)} contain an axis twice.")
    return checked


def check_size(count: int, dtype: str) -> None:
    """Raises ModelError if a tensor of `count` elements would be unreasonably large."""
    size = count * numpy_dtype(dtype).itemsize
    if size > LARGEST_CONSTANT_BYTES:
        raise ModelError(
            f"a constant tensor of {count} elements is asked for; the limit is "
            f"{LARGEST_CONSTANT_BYTES >> 20} MiB."
        )


def _reads_computed_shape(size: Expr) -> bool:
    """Whether a size is one of a tensor that is no variable."""
    found = [size]
    for node in found:
        if isinstance(node, Call) and node.callee is _SHAPE_OF:
            if not isinstance(node.arguments[0], Var):
                return True
        elif not isinstance(node, Var | Constant):
            found.extend(each for each in children(node) if isinstance(each, Expr))
    return False
