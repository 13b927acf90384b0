"""The arguments of a program as values, checked against the types of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import Dim, Symbol
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.interpreter_values import Value
from relay_tune.typing.type_text import type_text


def bind_inputs(
    function: Function, positional: Sequence[object], named: Mapping[str, object]
) -> list[Value]:
    """One value for each parameter of `function`, in order.

    Raises InputError where a value is missing, given twice, unknown, or of the wrong type.
    """
    arguments = arguments_by_name([var.name for var in function.params], positional, named)
    symbols: dict[Symbol, int] = {}
    return [_checked(arguments[var.name], _type(var), var.name, symbols) for var in function.params]


def arguments_by_name(
    names: Sequence[str], positional: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    """One value for each of `names`; InputError where one is missing, given twice, or unknown."""
    if not positional and len(named) == len(names) and all(map(named.__contains__, names)):
        return dict(named)
    expected = f"The inputs are: {', '.join(names) or 'none'}."
    if len(positional) > len(names):
        raise InputError(
            f"{len(positional)} inputs were given, but the program takes {len(names)}.",
            notes=(expected,),
        )
    arguments: dict[str, object] = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names:
            raise InputError(f"The program has no input {name!r}.", notes=(expected,))
        if name in arguments:
            raise InputError(f"Input {name!r} was given twice, by position and by name.")
        arguments[name] = value
    missing = [name for name in names if name not in arguments]
    if missing:
        raise InputError(f"No value was given for: {', '.join(missing)}.", notes=(expected,))
    return arguments


def _type(var: Var) -> Type | None:
    return var.annotation if var.annotation is not None else var.type


def _checked(value: object, type_: Type | None, name: str, symbols: dict[Symbol, int]) -> Value:
    if isinstance(type_, TupleType):
        if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
            raise InputError(f"Input {name!r} must be a tuple of {len(type_.fields)} values.")
        parts = zip(value, type_.fields, strict=True)
        return tuple(
            _checked(part, field, f"{name}.{index}", symbols)
            for index, (part, field) in enumerate(parts)
        )
    if isinstance(type_, TensorType):
        return _checked_tensor(value, type_, name, symbols)
    return _unchecked(value)


def _unchecked(value: object) -> Value:
    if isinstance(value, bool | int | float | np.generic | list):
        return np.asarray(value)
    return value  # type: ignore[return-value]  # any value of the interpreter may be passed on


def _checked_tensor(
    value: object, type_: TensorType, name: str, symbols: dict[Symbol, int]
) -> np.ndarray:
    is_number = isinstance(value, bool | int | float)
    array = np.asarray(value, dtype=type_.dtype if is_number else None)
    fits = str(array.dtype) == type_.dtype and len(array.shape) == len(type_.shape)
    sizes = zip(array.shape, type_.shape, strict=False)
    if fits and all(_dim_fits(size, dim, symbols) for size, dim in sizes):
        return array
    given = TensorType(array.shape, str(array.dtype))
    raise InputError(
        f"Input {name!r} must be {type_text(type_)}, but {type_text(given)} was given.",
        notes=tuple(f"{symbol} is {size} here." for symbol, size in symbols.items()),
        remedy=_remedy(array, type_, name),
    )


def _remedy(array: np.ndarray, type_: TensorType, name: str) -> str | None:
    if str(array.dtype) == type_.dtype:
        return None
    return f'convert it with {name}.astype("{type_.dtype}")'


def _dim_fits(size: int, dim: Dim, symbols: dict[Symbol, int]) -> bool:
    match dim:
        case int():
            return size == dim
        case Symbol():
            return symbols.setdefault(dim, size) == size
        case _:
            return True
