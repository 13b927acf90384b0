"""From a typed, straight-line Relay function to the tensor expressions that it computes.

Every operator call is replaced by what its record's `compute` says; tuples disappear. The result
is what schedules are made for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from relay_tune.errors import FIX_SIZES, BuildError, NoNativeCodeError
from relay_tune.ir.dim import Dim, UnknownDim, shape_text
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    type_name,
)
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Composition, Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType, TupleType, Type, unflatten
from relay_tune.op.bounded_constants import bounded_dimensions, constants_of
from relay_tune.op.decisive import is_decisive
from relay_tune.op.elements import integer_shape
from relay_tune.op.spaced_inputs import room_symbol, spaced_inputs
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Binary, Reduce, Scalar, Tensor, binary, literal, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import UndecidedSizeError, dim_of, size_value
from relay_tune.tensor.tensor import Computed, Input, compute, input_tensor
from relay_tune.tensor.walk import loads
from relay_tune.typing.infer import infer_expr

Value = Tensor | tuple["Value", ...]
"""A lowered expression: a tensor, or a tuple of values."""

NO_SIZES: Mapping[str, int] = MappingProxyType({})


def lower_function(
    function: Function, sizes: Mapping[str, int] = NO_SIZES, found: Sequence[int] = ()
) -> TensorProgram:
    """The tensor program of a typed function without control flow or calls of other functions.

    Scalar constants become literals. `sizes` are those of the symbols in types, as numbers or as
    symbolic sizes; `found` are those of the result that are `?`, where an operator finds them from
    its inputs. Raises BuildError where a size is not among them, an operator has no static tensor
    computation, or an expression is no straight-line computation.
    """
    lowering = _Lowering(sizes, found, spaced_inputs(function))
    for param in function.params:
        lowering.add_parameter(param)
    program = lowering.program(flatten_value(lowering.run(function.body)))
    return replace(
        program, is_decisive=is_decisive(function), bounded=lowering.bounded_tensors(function)
    )


def lower_sizes(function: Function, sizes: Mapping[str, int] = NO_SIZES) -> TensorProgram:
    """The program that finds the sizes of a function's result which are `?`: an int64 vector.

    The function is the call of one operator that finds sizes.
    """
    lowering = _Lowering(sizes, (), {})
    for param in function.params:
        lowering.add_parameter(param)
    return lowering.program([lowering.found_sizes(function.body)])


def finds_sizes(function: Function) -> bool:
    """Whether a function is the call of one operator that finds sizes of its result."""
    body = function.body
    if not isinstance(body, Call) or not isinstance(body.callee, Operator):
        return False
    is_plain = all(isinstance(argument, Var | Constant) for argument in body.arguments)
    return is_plain and body.callee.sizes is not None


def flatten_value(value: Value) -> Iterator[Tensor]:
    """The tensors of a value, left to right."""
    if isinstance(value, Tensor):
        yield value
        return
    for part in value:
        yield from flatten_value(part)


def sized_tensor_types(
    type_: Type | None, what: str, sizes: Mapping[str, int] = NO_SIZES
) -> list[TensorType]:
    """The tensor types in `type_`, left to right, their sizes numbers or symbolic sizes.

    Raises BuildError where a size is unknown.
    """
    match type_:
        case TensorType() if all(_is_known(dim, sizes) for dim in type_.shape):
            shape = tuple(size_value(dim, sizes) for dim in type_.shape)
            return [TensorType(shape, type_.dtype)]
        case TensorType():
            raise NoNativeCodeError(
                f"{what} has the shape {shape_text(type_.shape)}, which is not known before the "
                "program runs.",
                remedy=FIX_SIZES,
            )
        case TupleType():
            return [t for field in type_.fields for t in sized_tensor_types(field, what, sizes)]
        case _:
            raise BuildError(
                f"{what} is no tensor or tuple of tensors; was the function typed?",
                remedy="Call rt.infer_types on the module first.",
            )


def _is_known(dim: Dim, sizes: Mapping[str, int]) -> bool:
    return not isinstance(dim, UnknownDim) and symbol_names(dim) <= sizes.keys()


def _is_entered(node: Expr) -> bool:
    """Function literals are not entered: calling one is an error that `_value` reports."""
    return not isinstance(node, Function)


class _Lowering:
    """The values found so far, and the tensors that they start from."""

    def __init__(
        self, sizes: Mapping[str, int], found: Sequence[int], spaced: Mapping[int, int]
    ) -> None:
        self.sizes = sizes
        self.found = tuple(found)
        self.spaced = spaced
        self.bindings: dict[Var, Expr] = {}
        self.values: dict[Expr, Value] = {}
        self.inputs: list[Input] = []
        self.constants: list[tuple[Input, ConstantData]] = []
        self.other_factors: dict[Tensor, str] = {}

    def add_parameter(self, param: Var) -> None:
        """Make inputs of a parameter."""
        type_ = known_type(param)
        tensors = [
            input_tensor(param.name, integer_shape(tensor), tensor.dtype)
            for tensor in sized_tensor_types(type_, f"parameter %{param.name}", self.sizes)
        ]
        values: list[Tensor] = [*tensors]
        for position, axis in self.spaced.items():
            own = position - len(self.inputs)
            if 0 <= own < len(tensors):
                tensors[own] = _with_room(tensors[own], axis, self.sizes[room_symbol(position)])
                values[own] = _first_part(tensors[own], values[own].shape)
        self.inputs += tensors
        self.values[param] = unflatten(type_, iter(values))

    def program(self, outputs: Iterable[Tensor]) -> TensorProgram:
        """The program that computes outputs."""
        results = tuple(outputs)
        data_type = self._data_type(results) if self.other_factors else ""
        return TensorProgram(tuple(self.inputs), results, tuple(self.constants), data_type)

    def bounded_tensors(self, function: Function) -> tuple[tuple[Tensor, int], ...]:
        """Constants of a lowered primitive with dimensions along which pairs add up to little."""
        listed = bounded_dimensions(function)
        constants = constants_of(function) if listed else []
        found: list[tuple[Tensor, int]] = []
        for number, dimension in listed:
            tensor = self.values[constants[number]] if 0 <= number < len(constants) else None
            if not isinstance(tensor, Tensor) or not 0 <= dimension < tensor.rank:
                raise BuildError(
                    f"Bounded names dimension {dimension} of constant {number}, which the "
                    "primitive has not.",
                    where=function.span,
                    remedy="Leave the attribute out: the pass bound_constants writes it.",
                )
            found.append((tensor, dimension))
        return tuple(found)

    def _data_type(self, outputs: Sequence[Tensor]) -> str:
        """The type that all products let their data be rounded to; empty where they differ."""
        found = {
            max((self.other_factors.get(load.tensor, "") for load in loads(stage.body)), default="")
            for stage in tensors_in_order(outputs)
            if isinstance(stage, Computed) and multiplies(stage)
        }
        return found.pop() if len(found) == 1 else ""

    def found_sizes(self, call: Expr) -> Tensor:
        """The vector of the sizes that the operator of a call finds."""
        assert isinstance(call, Call) and isinstance(call.callee, Operator)
        assert call.callee.sizes is not None  # `finds_sizes` has looked
        arguments = [self.run(argument) for argument in call.arguments]
        listed = call.callee.sizes(call.attributes, arguments, ())

        def element(index: Scalar) -> Scalar:
            value: Scalar = listed[-1]
            for number in reversed(range(len(listed) - 1)):
                value = select(binary("eq", index, number), listed[number], value)
            return value

        return compute("sizes", (len(listed),), element)

    def run(self, body: Expr) -> Value:
        """The value of an expression whose free variables have values."""
        nodes = list(post_order(body, enter=_is_entered))
        self.bindings |= {node.var: node.value for node in nodes if isinstance(node, Let)}
        for node in nodes:
            self.values[node] = self._value(node)
        return self.values[body]

    def _value(self, node: Expr) -> Value:
        """The value of a node whose children have values."""
        match node:
            case Var() if node in self.values:
                return self.values[node]
            case Var() if node in self.bindings:
                return self.values[self.bindings[node]]
            case Constant():
                return self._constant(node)
            case Tuple():
                return tuple(self.values[field] for field in node.fields)
            case TupleGetItem():
                fields = self.values[node.tuple_value]
                assert isinstance(fields, tuple)
                return fields[node.index]
            case Let():
                return self.values[node.body]
            case Call(callee=Operator() as operator):
                return self._operator_call(node, operator)
            case Operator():
                return ()
            case _:
                raise _not_straight_line(node)

    def _constant(self, node: Constant) -> Tensor:
        data = node.data
        dtype = data.dtype.name
        if data.ndim == 0:
            number = data.item()
            return compute("constant", (), lambda: literal(number, dtype))
        tensor = input_tensor(f"constant{len(self.constants)}", data.shape, dtype)
        self.constants.append((tensor, data))
        return tensor

    def _operator_call(self, call: Call, operator: Operator) -> Value:
        if operator.compute is None and operator.composition is not None:
            return self._composed_call(call, operator, operator.composition)
        if operator.compute is None:
            raise NoNativeCodeError(
                f"Operator {operator.name} has no computation for static shapes.",
                where=call.span,
                remedy="Its result depends on the values of its inputs; run it in the interpreter.",
            )
        result = call.type
        if operator.sizes is not None and self.found:
            result = _with_found(result, self.found)
        types = sized_tensor_types(result, f"The result of {operator.name}", self.sizes)
        if all(0 in type_.shape for type_ in types):
            return unflatten(call.type, iter([_empty_tensor(type_) for type_ in types]))
        arguments = [self.values[argument] for argument in call.arguments]
        try:
            outputs: Sequence[Tensor] = operator.compute(call.attributes, arguments, types)
        except UndecidedSizeError as error:
            raise NoNativeCodeError(
                f"Operator {operator.name} has no code for sizes that are open: {error.message}",
                where=call.span,
                remedy=FIX_SIZES,
            ) from error
        _check_outputs(operator, outputs, types)
        if operator.other_factor is not None:
            self.other_factors |= dict.fromkeys(outputs, operator.other_factor(call.attributes))
        return unflatten(call.type, iter(outputs))

    def _composed_call(self, call: Call, operator: Operator, composition: Composition) -> Value:
        """The value of an operator that is written in simpler ones."""
        typed = composed_function(call, operator, composition)
        for param, argument in zip(typed.params, call.arguments, strict=True):
            self.values[param] = self.values[argument]
        return self.run(typed.body)


def composed_function(call: Call, operator: Operator, composition: Composition) -> Function:
    """The typed function that an operator is on the types of a call's arguments."""
    types = [argument.type for argument in call.arguments]
    params = tuple(Var(f"{operator.name}_{n}", type_) for n, type_ in enumerate(types))
    known = [type_ for type_ in types if type_ is not None]
    typed = infer_expr(Function(params, composition(call.attributes, params, known)))
    assert isinstance(typed, Function)
    return typed


def multiplies(stage: Computed) -> bool:
    """Whether a stage is a sum of products."""
    body = stage.body.body if isinstance(stage.body, Reduce) else None
    return isinstance(body, Binary) and body.operation == "mul"


def _with_room(tensor: Input, axis: int, room: int) -> Input:
    """An input with another size along an axis."""
    shape = (*tensor.shape[:axis], room, *tensor.shape[axis + 1 :])
    return input_tensor(tensor.name, shape, tensor.dtype)


def _first_part(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements of a tensor at the indices that a smaller shape has."""
    return compute(f"{tensor.name}_part", shape, lambda *indices: tensor[indices])


def _with_found(type_: Type | None, found: Sequence[int]) -> Type | None:
    """A type with sizes for its `?`, in order."""
    sizes = iter(found)

    def known(part: Type) -> Type:
        if isinstance(part, TupleType):
            return TupleType(tuple(known(field) for field in part.fields))
        if not isinstance(part, TensorType):
            return part
        shape = tuple(dim_of(next(sizes)) if isinstance(d, UnknownDim) else d for d in part.shape)
        return TensorType(shape, part.dtype)

    return None if type_ is None else known(type_)


def _empty_tensor(type_: TensorType) -> Tensor:
    """A tensor without elements; operators need not care for sizes of 0 in all they return."""
    return compute("empty", integer_shape(type_), lambda *axes: literal(0, type_.dtype))


def _check_outputs(operator: Operator, outputs: object, types: list[TensorType]) -> None:
    """A computation that contradicts its type rule is stopped here, not in generated code."""
    assert isinstance(outputs, list | tuple)
    found = [(tensor.shape, tensor.dtype) for tensor in outputs]
    expected = [(integer_shape(type_), type_.dtype) for type_ in types]
    if found != expected:
        raise BuildError(
            f"The computation of {operator.name} gives {found}, but its type says {expected}.",
            notes=("This is a defect of the operator's record, not of the model.",),
            remedy="Correct the computation or the type relation of the operator.",
        )


def _not_straight_line(node: Expr) -> BuildError:
    detail = f"%{node.name}" if isinstance(node, Var) else type_name(node)
    return BuildError(
        f"A kernel cannot contain {detail}: only operators, tuples and constants.",
        where=node.span,
        notes=("Control flow, references and calls of functions stay outside of kernels.",),
        remedy=(
            "Run the passes of `default_pipeline` first: they leave such parts outside of kernels."
        ),
    )
