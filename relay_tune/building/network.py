"""A fused, straight-line function as one region: which primitive reads and writes what.

    main (%x) { %1 = conv(%x); %2 = reshape(%1); (softmax(%2), %x) }

becomes the runs conv: x -> a, softmax: a -> b, copy: x -> c. An output that is an input, a
constant, another output or a part of another buffer is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relay_tune.errors import NoNativeCodeError
from relay_tune.first_order.region import Buffer, Region
from relay_tune.first_order.region_builder import RegionBuilder
from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    type_name,
)
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.output_names import output_names
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.index_check import CheckIndicesAttributes, index_message
from relay_tune.op.lower import sized_tensor_types
from relay_tune.op.primitive_key import operators_text
from relay_tune.op.primitive_views import index_check


@dataclass(frozen=True, eq=False, slots=True)
class IndexCheck:
    """Indices that are checked when all kernels have run.

    Attributes:
        extent: the extents of the coordinates (`relay_tune.op.index_check`).
        sizes: what they are compared with; of a buffer, its number.
        message: what is said where an index is outside.
    """

    extent: Buffer
    sizes: tuple[int | Buffer, ...]
    message: str

    @property
    def read(self) -> tuple[Buffer, ...]:
        """The buffers that the check reads when all kernels have run."""
        return self.extent, *(size for size in self.sizes if isinstance(size, Buffer))


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """A program without control flow.

    Attributes:
        inputs: the types of the inputs by name.
        outputs: the types of the outputs by name (a view may have another shape than its buffer).
        region: its kernels.
        checks: of indices.
    """

    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    region: Region
    checks: tuple[IndexCheck, ...] = ()


Value = Buffer | tuple["Value", ...]


def network_of(module: Module) -> Network:
    """The region of a fused module's main function.

    Raises NoNativeCodeError for control flow, closures, references and data types, and for shapes
    that are not static.
    """
    walk = _Walk()
    inputs = {param.name: walk.add_input(param).type for param in module.main.params}
    for buffer in _flatten(walk.run(module.main.body)):
        walk.region.add_output(buffer)
    return Network(inputs, output_types(module), walk.region.region(), tuple(walk.checks))


def input_type(param: Var) -> TensorType:
    """The type of an input of the program; NoNativeCodeError unless it is a tensor."""
    type_ = known_type(param)
    if isinstance(type_, TensorType):
        return type_
    raise NoNativeCodeError(
        f"Input %{param.name} is no tensor; a native program takes tensors only.",
        where=param.span,
        remedy="Give main one parameter for each tensor.",
    )


def output_types(module: Module) -> dict[str, TensorType]:
    """The types of the outputs by name; NoNativeCodeError unless they are tensors."""
    types = list(_tensor_types(known_type(module.main.body)))
    return dict(zip(output_names(module, len(types)), types, strict=True))


def is_static(type_: TensorType) -> bool:
    """Whether a shape consists of integers."""
    return all(isinstance(dim, int) for dim in type_.shape)


def _tensor_types(type_: Type | None) -> Iterator[TensorType]:
    match type_:
        case TensorType():
            yield type_
        case TupleType():
            for field in type_.fields:
                yield from _tensor_types(field)
        case _:
            raise NoNativeCodeError(
                "The program's result is no tensor or tuple of tensors.",
                remedy="The interpreter runs it: relay_tune.interpret(module, ...).",
            )


class _Walk:
    """Goes through an expression in order of evaluation and writes down the kernels."""

    def __init__(self) -> None:
        self.region = RegionBuilder()
        self.checks: list[IndexCheck] = []
        self._values: dict[Expr, Value] = {}
        self._bindings: dict[Expr, Expr] = {}

    def add_input(self, param: Var) -> Buffer:
        """The buffer of a parameter; NoNativeCodeError unless it is a tensor of static shape."""
        type_ = sized_tensor_types(input_type(param), f"Input %{param.name}")[0]
        self._values[param] = buffer = self.region.add_input(type_)
        return buffer

    def run(self, body: Expr) -> Value:
        """The value of an expression."""
        nodes = list(post_order(body, enter=lambda node: not isinstance(node, Function)))
        self._bindings |= {node.var: node.value for node in nodes if isinstance(node, Let)}
        callees = {node.callee for node in nodes if isinstance(node, Call)}
        for node in nodes:
            is_kernel = isinstance(node, Function) and node.is_primitive and node in callees
            if not is_kernel and node not in self._values:
                self._values[node] = self._value(node)
        return self._values[body]

    def _value(self, node: Expr) -> Value:
        match node:
            case Constant():
                return self.region.constant(node.data)
            case Var() if node in self._bindings:
                return self._values[self._bindings[node]]
            case Let():
                return self._values[node.body]
            case Tuple():
                return tuple(self._values[field] for field in node.fields)
            case TupleGetItem():
                fields = self._values[node.tuple_value]
                assert isinstance(fields, tuple)
                return fields[node.index]
            case Call(callee=Function() as function) if function.is_primitive:
                return self._primitive_call(node, function)
            case _:
                raise _not_straight_line(node)

    def _primitive_call(self, call: Call, function: Function) -> Value:
        inputs = [s for argument in call.arguments for s in _flatten(self._values[argument])]
        check = index_check(function)
        if check is not None:
            return self._checked(check, *inputs)
        types = sized_tensor_types(call.type, f"The result of {operators_text(function)}")
        outputs = self.region.run(function, inputs, types)
        return _unflatten(call.type, iter(outputs))

    def _checked(self, check: Call, indices: Buffer, extent: Buffer, *count: Buffer) -> Buffer:
        """Indices, which are checked in the end: kernels read inside of tensors whatever comes."""
        attributes = check.attributes
        assert isinstance(attributes, CheckIndicesAttributes)  # the callee is check_indices
        message = index_message(attributes.subject)
        self.checks.append(IndexCheck(extent, count or attributes.sizes, message))
        return indices


def _flatten(value: Value) -> Iterator[Buffer]:
    if isinstance(value, Buffer):
        yield value
        return
    for part in value:
        yield from _flatten(part)


def _unflatten(type_: Type | None, buffers: Iterator[Buffer]) -> Value:
    if isinstance(type_, TupleType):
        return tuple(_unflatten(field, buffers) for field in type_.fields)
    return next(buffers)


_CONSTRUCTS = {
    "If": "a condition (if)",
    "Match": "a match",
    "Function": "a closure",
    "RefCreate": "a reference",
    "RefRead": "a reference",
    "RefWrite": "a reference",
    "Constructor": "a constructor of a data type",
    "Var": "a variable without a value",
}


def _not_straight_line(node: Expr) -> NoNativeCodeError:
    match node:
        case GlobalVar():
            what = f"a call of @{node.name}"
        case Call():
            what = "a call of a function value"
        case _:
            what = _CONSTRUCTS.get(type_name(node), type_name(node))
    return NoNativeCodeError(
        f"The program contains {what}, for which there is no native code yet.",
        where=node.span,
        remedy="The interpreter runs it: relay_tune.interpret(module, ...).",
    )
