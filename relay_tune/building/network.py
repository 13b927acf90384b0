"""A fused, straight-line function as steps over memory: which primitive reads and writes what.

    main (%x) { %1 = conv(%x); %2 = reshape(%1); (softmax(%2), %x) }

becomes the steps conv: x -> a, softmax: a -> b, copy: x -> c. A reshape is another view of the same
storage, a slice may be a part of one; the fields of a concatenation along the outermost axis are
computed in parts of its storage. An output that is an input, a constant, another output or a part
is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import prod

import numpy as np

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.dtypes import DTYPES
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
from relay_tune.op.primitive_views import index_check, is_join, view_offset


class Origin(Enum):
    """Where the content of a storage comes from."""

    INPUT = "input"
    CONSTANT = "constant"
    COMPUTED = "computed"


@dataclass(frozen=True, eq=False, slots=True)
class Storage:
    """The memory of a tensor and of all views of it; `data` of constants only."""

    type: TensorType
    origin: Origin
    data: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        elements = prod(dim for dim in self.type.shape if isinstance(dim, int))
        return elements * DTYPES[self.type.dtype].itemsize


@dataclass(frozen=True, slots=True)
class Part:
    """Where a storage lies in another one: so many bytes from its begin."""

    whole: Storage
    offset: int


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One run of a primitive function; tuples are flattened."""

    function: Function
    inputs: tuple[Storage, ...]
    outputs: tuple[Storage, ...]


@dataclass(frozen=True, eq=False, slots=True)
class IndexCheck:
    """Indices that are checked when all steps have run.

    Attributes:
        extent: the extents of the coordinates (`relay_tune.op.index_check`).
        sizes: what they are compared with; of a storage, its number.
        message: what is said where an index is outside.
    """

    extent: Storage
    sizes: tuple[int | Storage, ...]
    message: str

    @property
    def read(self) -> tuple[Storage, ...]:
        """The storages that the check reads when all steps have run."""
        return self.extent, *(size for size in self.sizes if isinstance(size, Storage))


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """A program without control flow.

    Attributes:
        inputs: the storage of each input by name.
        outputs: the storage of each output by name: computed, and no two the same.
        output_types: the types of the outputs (a view may have another shape than its storage).
        steps: the primitives in the order in which they run.
        parts: the storages that lie in others, which lie in none.
        checks: of indices.
    """

    inputs: Mapping[str, Storage]
    outputs: Mapping[str, Storage]
    output_types: Mapping[str, TensorType]
    steps: tuple[Step, ...]
    parts: Mapping[Storage, Part]
    checks: tuple[IndexCheck, ...] = ()

    def located(self, storage: Storage) -> Part:
        """The storage of its own memory that a storage lies in, and where."""
        return self.parts.get(storage, Part(storage, 0))


Value = Storage | tuple["Value", ...]


def network_of(module: Module) -> Network:
    """The steps of a fused module's main function.

    Raises NoNativeCodeError for control flow, closures, references and data types, and for shapes
    that are not static.
    """
    walk = _Walk()
    inputs = {param.name: walk.add_input(param) for param in module.main.params}
    results = [walk.own_output(storage) for storage in _flatten(walk.run(module.main.body))]
    types = output_types(module)
    outputs = dict(zip(types, results, strict=True))
    steps, checks = tuple(walk.steps), tuple(walk.checks)
    return Network(inputs, outputs, types, steps, _resolved(walk.parts), checks)


def _resolved(parts: Mapping[Storage, Part]) -> dict[Storage, Part]:
    """Parts of parts as parts of what these lie in; linear, however deep they are nested."""
    found: dict[Storage, Part] = {}
    for storage in parts:
        path: list[Storage] = []
        while storage in parts and storage not in found:
            path.append(storage)
            storage = parts[storage].whole
        for inner in reversed(path):
            part = parts[inner]
            outer = found.get(part.whole, Part(part.whole, 0))
            found[inner] = Part(outer.whole, outer.offset + part.offset)
    return found


@cache
def _copy_of(type_: TensorType) -> Function:
    """The function that copies a tensor; one for all networks, so that they share its code."""
    source = Var("p0", type_, type=type_)
    return Function((source,), source)


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
    """Goes through an expression in order of evaluation and writes down the steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.checks: list[IndexCheck] = []
        self.parts: dict[Storage, Part] = {}
        self._values: dict[Expr, Value] = {}
        self._bindings: dict[Expr, Expr] = {}
        self._taken: set[Storage] = set()

    def add_input(self, param: Var) -> Storage:
        """The storage of a parameter; NoNativeCodeError unless it is a tensor of static shape."""
        type_ = sized_tensor_types(input_type(param), f"Input %{param.name}")[0]
        storage = Storage(type_, Origin.INPUT)
        self._values[param] = storage
        return storage

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

    def own_output(self, storage: Storage) -> Storage:
        """The storage of an output: itself, or a copy where it cannot be an output."""
        if self._is_free(storage):
            self._taken.add(storage)
            return storage
        return self._copied(storage)

    def _is_free(self, storage: Storage) -> bool:
        """Whether a storage's place is still open."""
        is_own = storage not in self._taken and storage not in self.parts
        return is_own and storage.origin is Origin.COMPUTED

    def _copied(self, storage: Storage) -> Storage:
        copied = Storage(storage.type, Origin.COMPUTED)
        self.steps.append(Step(_copy_of(storage.type), (storage,), (copied,)))
        return copied

    def _value(self, node: Expr) -> Value:
        match node:
            case Constant():
                data = node.data
                type_ = TensorType(data.shape, data.dtype.name)
                return Storage(type_, Origin.CONSTANT, data)
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
        offset = view_offset(function)
        if offset is not None and len(inputs) == len(types) == 1:
            return self._view(inputs[0], offset, types[0])
        if is_join(function):
            return self._join(inputs, types[0])
        outputs = tuple(Storage(type_, Origin.COMPUTED) for type_ in types)
        self.steps.append(Step(function, tuple(inputs), outputs))
        return _unflatten(call.type, iter(outputs))

    def _checked(self, check: Call, indices: Storage, extent: Storage, *count: Storage) -> Storage:
        """Indices, which are checked in the end: kernels read inside of tensors whatever comes."""
        attributes = check.attributes
        assert isinstance(attributes, CheckIndicesAttributes)  # the callee is check_indices
        message = index_message(attributes.subject)
        self.checks.append(IndexCheck(extent, count or attributes.sizes, message))
        return indices

    def _view(self, source: Storage, offset: int, type_: TensorType) -> Storage:
        """A piece of a storage, from an element on; with its size, the storage itself."""
        view = Storage(type_, Origin.COMPUTED)
        if view.size == source.size:
            return source
        self.parts[view] = Part(source, offset * DTYPES[type_.dtype].itemsize)
        return view

    def _join(self, sources: Sequence[Storage], type_: TensorType) -> Storage:
        """The storage in which sources lie one after the other; copies of those that are fixed."""
        whole = Storage(type_, Origin.COMPUTED)
        offset = 0
        for source in sources:
            part = source if self._is_free(source) else self._copied(source)
            self.parts[part] = Part(whole, offset)
            offset += part.size
        return whole


def _flatten(value: Value) -> Iterator[Storage]:
    if isinstance(value, Storage):
        yield value
        return
    for part in value:
        yield from _flatten(part)


def _unflatten(type_: Type | None, storages: Iterator[Storage]) -> Value:
    if isinstance(type_, TupleType):
        return tuple(_unflatten(field, storages) for field in type_.fields)
    return next(storages)


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
