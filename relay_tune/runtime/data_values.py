"""Values of algebraic data types, made and taken apart in Python.

>>> list_items(list_value([1.5, 2.5]))
[array(1.5, dtype=float32), array(2.5, dtype=float32)]
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from relay_tune.arguments import did_you_mean, instance_of, wrong_type
from relay_tune.errors import InputError
from relay_tune.ir.expr import Constructor, constant
from relay_tune.ir.module import Module, require_module
from relay_tune.runtime.interpreter.values import ConstructorValue, Value
from relay_tune.std import prelude


def data_value(module: Module, constructor: str, *fields: object) -> ConstructorValue:
    """The value `constructor(fields...)` of a data type of `module`.

    Numbers become scalars (float32, int32, bool), arrays and other values stay as they are. Raises
    InputError where there is no such constructor or the number of fields is wrong.
    """
    found = _constructor(module, constructor)
    if len(fields) != len(found.inputs):
        raise InputError(
            f"The constructor {constructor} has {len(found.inputs)} field(s), "
            f"but {len(fields)} were given.",
            remedy="Give one value for each field.",
        )
    return ConstructorValue(found, tuple(field_value(field) for field in fields))


def field_value(value: object) -> Value:
    """A Python number, array or tuple of them as a value of programs."""
    if isinstance(value, bool | int | float):
        return constant(value).data
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, tuple):
        return tuple(field_value(part) for part in value)
    return value  # type: ignore[return-value]  # values of programs stay as they are


def list_value(items: Iterable[object]) -> ConstructorValue:
    """The items as a `List` of the prelude."""
    if not isinstance(items, Iterable):
        raise wrong_type("The items of a list", "a sequence", items, "Give a list or a tuple.")
    cons, nil = (_constructor(prelude("List"), name) for name in ("Cons", "Nil"))
    result = ConstructorValue(nil, ())
    for item in reversed([field_value(item) for item in items]):
        result = ConstructorValue(cons, (item, result))
    return result


def list_items(value: Value) -> list[Value]:
    """The elements of a `List`; raises InputError for any other value."""
    items: list[Value] = []
    rest = value
    while isinstance(rest, ConstructorValue) and rest.constructor.name == "Cons":
        item, rest = rest.fields
        items.append(item)
    if not isinstance(rest, ConstructorValue) or rest.constructor.name != "Nil":
        raise InputError(
            f"{rest!r} is no list of the prelude.",
            remedy="Give a value that `Cons` or `Nil` made, such as rt.list_value(...) gives.",
        )
    return items


def _constructor(module: Module, name: str) -> Constructor:
    instance_of(str, name, "The name of a constructor", "Write it as in the text: 'Cons'.")
    known = {c.name: c for data in require_module(module).types.values() for c in data.constructors}
    if name in known:
        return known[name]
    raise InputError(
        f"The module has no constructor {name!r}.",
        notes=(f"It has: {', '.join(known) or 'none'}.",),
        remedy=did_you_mean(name, known, "Use a constructor that the module has."),
    )
