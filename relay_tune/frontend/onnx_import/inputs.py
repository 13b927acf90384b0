"""The inputs of an ONNX graph as parameters, with the sizes that the user binds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from onnx import GraphProto

from relay_tune.arguments import wrong_type
from relay_tune.errors import FIX_SIZES, InputError, ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.declared_types import (
    MAXIMUM_DIM,
    declared_size,
    declared_value_type,
)
from relay_tune.frontend.onnx_import.model import checked_text
from relay_tune.frontend.onnx_import.node_order import names_read
from relay_tune.frontend.onnx_import.refusals import Refusals
from relay_tune.frontend.onnx_import.tensor import MAXIMUM_RANK
from relay_tune.frontend.onnx_import.types import storage_name
from relay_tune.ir.dim import Dim, Symbol
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType, Type
from relay_tune.quick_dataclass import dataclass

Shapes = Mapping[str, Sequence[int] | int]


def parameters(
    graph: GraphProto,
    constant_names: Collection[str],
    shapes: Mapping[str, object],
    refusals: Refusals,
) -> tuple[Var, ...]:
    """A typed variable for each input of the graph that no weight of the file fills.

    `shapes` gives sizes to inputs by name, or to symbols by theirs; a symbol that gets a size gets
    it in all inputs. Inputs of types that are not supported are left out, and noted in `refusals`
    if something reads them.
    Raises ModelError for a malformed input, InputError where `shapes` does not fit.
    """
    declared = {name: value for name, value in _inputs(graph) if name not in constant_names}
    sizes = {name: _sizes(name, shape) for name, shape in shapes.items() if name in declared}
    bindings = _Bindings()
    types: dict[str, Type] = {}
    read = {name for node in graph.node for name in names_read(node)}
    read |= {output.name for output in graph.output}
    for name, value in declared.items():
        with refusals.collecting(name) if name in read else suppress(UnsupportedOperatorError):
            types[name] = _declared_type(name, value, bindings, sizes.get(name))
    for name, shape in sizes.items():
        type_ = types.get(name)
        if isinstance(type_, TensorType):
            bindings.bind(name, type_, shape)
        elif type_ is not None:
            raise InputError(
                f"A shape is given for {name!r}, which is a sequence or an optional.",
                remedy="Omit it: its elements have any size.",
            )
    for name, size in shapes.items():
        if name not in declared:
            _bind_symbol(name, size, bindings, declared)
    return tuple(_variable(name, type_, bindings) for name, type_ in types.items())


def _bind_symbol(name: str, size: object, bindings: _Bindings, inputs: Collection[str]) -> None:
    """Give a symbol its size; InputError for a name that none has, or for no single size."""
    symbol = bindings.symbols.get(name)
    if symbol is None:
        notes = [f"The inputs are {', '.join(inputs) or 'none'}."]
        if bindings.symbols:
            notes.append(f"The names of sizes are {', '.join(bindings.symbols)}.")
        raise InputError(
            f"A shape is given for {name!r}, which is not an input of the model.",
            notes=tuple(notes),
            remedy="Use one of these names.",
        )
    (only,) = size if isinstance(size, Sequence) and len(size) == 1 else (size,)
    if isinstance(only, bool) or not isinstance(only, int):
        raise InputError(
            f"The size {name!r} cannot be {only!r}.",
            remedy=f"Give one whole number of at least 0, such as {{{name!r}: 1}}.",
        )
    bindings.bind(name, TensorType((symbol,), "int64"), (only,))


def _sizes(name: str, shape: object) -> Sequence[int]:
    if isinstance(shape, Sequence) and not isinstance(shape, str | bytes):
        return shape
    remedy = f"Write it like {{{name!r}: (1, 3, 224, 224)}}."
    raise wrong_type(f"The shape for {name!r}", "a tuple of whole numbers", shape, remedy)


def _inputs(graph: GraphProto) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for value in graph.input:
        name = checked_text(value.name, "input name")
        if not name or name in seen:
            raise ModelError(f"The graph has two inputs called {name!r}, or one without a name.")
        seen.add(name)
        yield name, value


def _declared_type(name: str, value: Any, bindings: _Bindings, given: Sequence[int] | None) -> Type:
    kind = value.type.WhichOneof("value")
    if kind is None:
        raise ModelError(f"The input {name!r} has no type.")
    if kind != "tensor_type":
        return declared_value_type(value.type, name)
    tensor = value.type.tensor_type
    dtype = storage_name(tensor.elem_type, f"The input {name!r}")
    if tensor.HasField("shape"):
        dims = tensor.shape.dim
        if len(dims) > MAXIMUM_RANK:
            raise ModelError(f"The input {name!r} has {len(dims)} dimensions.")
        return TensorType(
            tuple(bindings.declared_dim(name, axis, dim) for axis, dim in enumerate(dims)), dtype
        )
    if given is None:
        raise InputError(
            f"The input {name!r} has no shape in the model.",
            remedy=FIX_SIZES,
        )
    return TensorType(tuple(given), dtype)


@dataclass
class _Bindings:
    """Names and sizes of symbols."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def declared_dim(self, name: str, axis: int, dim: Any) -> Dim:
        """A dimension as the file declares it."""
        declared = declared_size(dim, f"axis {axis} of the input {name!r}")
        if isinstance(declared, int):
            return declared
        if not declared:
            return Symbol(self._fresh_name(f"{name}_{axis}"))
        if declared not in self.symbols:
            self.symbols[declared] = Symbol(self._fresh_name(declared))
        return self.symbols[declared]

    def bind(self, name: str, type_: TensorType, shape: Sequence[int]) -> None:
        """Give the symbols of one input their sizes; InputError if they do not fit."""
        if len(shape) != len(type_.shape):
            raise InputError(
                f"The shape {tuple(shape)} for {name!r} has {len(shape)} sizes, "
                f"but the model declares {len(type_.shape)}.",
                remedy="Give one size for each declared axis.",
            )
        for axis, (dim, size) in enumerate(zip(type_.shape, shape, strict=True)):
            if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MAXIMUM_DIM:
                raise InputError(
                    f"The shape for {name!r} has the size {size!r} at axis {axis}.",
                    remedy="Give whole numbers of at least 0.",
                )
            known = self.sizes.setdefault(dim.name, size) if isinstance(dim, Symbol) else dim
            if known != size:
                raise InputError(
                    f"The shape {tuple(shape)} for {name!r} has the size {size} at axis {axis}, "
                    f"where {known} is needed.",
                    remedy="Give this size there; only dynamic sizes of the file can be chosen.",
                )

    def resolved(self, type_: TensorType) -> TensorType:
        """A type with bound symbols replaced by their sizes."""
        dims: list[Dim] = [
            self.sizes.get(dim.name, dim) if isinstance(dim, Symbol) else dim for dim in type_.shape
        ]
        return TensorType(tuple(dims), type_.dtype)

    def _fresh_name(self, wish: str) -> str:
        base = re.sub(r"\W", "_", wish)
        base = base if base[:1].isalpha() or base[:1] == "_" else f"_{base}"
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


def _variable(name: str, type_: Type, bindings: _Bindings) -> Var:
    resolved = bindings.resolved(type_) if isinstance(type_, TensorType) else type_
    return Var(name, resolved, type=resolved)
