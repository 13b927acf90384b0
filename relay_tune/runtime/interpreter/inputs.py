"""The arguments of a program as values, checked against the types of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Function
from relay_tune.ir.known_type import known_type
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.input_check import check_array, number_as
from relay_tune.runtime.interpreter.python_values import from_python
from relay_tune.runtime.interpreter.values import Value


def bind_inputs(
    function: Function, positional: Sequence[object], named: Mapping[str, object]
) -> list[Value]:
    """One value for each parameter of `function`, in order.

    Raises InputError where a value is missing, given twice, unknown, or of the wrong type.
    """
    arguments = arguments_in_order([var.name for var in function.params], positional, named)
    symbols: dict[Symbol, int] = {}
    return [
        _checked(value, known_type(var), var.name, symbols)
        for var, value in zip(function.params, arguments, strict=True)
    ]


def arguments_in_order(
    names: Sequence[str], positional: Sequence[object], named: Mapping[str, object]
) -> Sequence[object]:
    """One value for each of `names`; a mapping in place of them has all values by name.

    Raises InputError where one is missing, given twice, or unknown.
    """
    match positional:
        case [Mapping() as values] if not named:
            positional, named = (), values
    if not named and len(positional) == len(names):
        return positional
    if not positional and len(named) == len(names):
        with suppress(KeyError):
            return [named[name] for name in names]
    arguments = _by_name(names, positional, named)
    return [arguments[name] for name in names]


def _by_name(
    names: Sequence[str], positional: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    expected = f"The inputs are: {', '.join(names) or 'none'}."
    if len(positional) > len(names):
        raise InputError(
            f"{len(positional)} inputs were given, but the program takes {len(names)}.",
            notes=(expected,),
            remedy="Give one value for each input, by position or by name.",
        )
    arguments: dict[str, object] = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names:
            raise InputError(
                f"The program has no input {name!r}.",
                notes=(expected,),
                remedy="Use one of these names.",
            )
        if name in arguments:
            raise InputError(
                f"Input {name!r} was given twice, by position and by name.",
                remedy="Omit one of them.",
            )
        arguments[name] = value
    missing = [name for name in names if name not in arguments]
    if missing:
        raise InputError(
            f"No value was given for: {', '.join(missing)}.",
            notes=(expected,),
            remedy=f"Give values in this order, or by name: {missing[0]}=... .",
        )
    return arguments


def _checked(value: object, type_: Type | None, name: str, symbols: dict[Symbol, int]) -> Value:
    if isinstance(type_, TupleType):
        if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
            raise InputError(
                f"Input {name!r} must be a tuple of {len(type_.fields)} values.",
                remedy="Give a tuple with one value for each field.",
            )
        parts = zip(value, type_.fields, strict=True)
        return tuple(
            _checked(part, field, f"{name}.{index}", symbols)
            for index, (part, field) in enumerate(parts)
        )
    if isinstance(type_, TensorType):
        return _checked_tensor(value, type_, name, symbols)
    found = from_python(value, type_)
    return np.asarray(found) if isinstance(found, bool | int | float | np.generic | list) else found


def _checked_tensor(
    value: object, type_: TensorType, name: str, symbols: dict[Symbol, int]
) -> np.ndarray:
    if isinstance(value, bool | int | float):
        array = number_as(value, type_.dtype, name)
    else:
        array = np.asarray(value)
    check_array(array, type_, name, symbols)
    return array
