"""Types in words of the language, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

from relay_tune.ir.dim import shape_text
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)


def type_text(type_: Type) -> str:
    """A type as it is written in Relay text; an unknown part is `_`."""
    match type_:
        case TensorType():
            return _tensor_text(type_)
        case TupleType():
            return f"({_joined(type_.fields)}{',' if len(type_.fields) == 1 else ''})"
        case FuncType():
            variables = ", ".join(var.name for var in type_.type_params)
            quantifier = f" [{variables}]" if variables else " "
            return f"fn{quantifier}({_joined(type_.params)}) -> {type_text(type_.result)}"
        case TypeCall():
            arguments = f"[{_joined(type_.arguments)}]" if type_.arguments else ""
            return f"{type_text(type_.function)}{arguments}"
        case RefType():
            return f"ref({type_text(type_.value)})"
        case TypeVar() | GlobalTypeVar():
            return type_.name
        case _:
            return "_"


def _tensor_text(tensor: TensorType) -> str:
    if not tensor.shape:
        return tensor.dtype
    return f"Tensor[{shape_text(tensor.shape)}, {tensor.dtype}]"


def _joined(types: Iterable[Type]) -> str:
    return ", ".join(type_text(type_) for type_ in types)
