"""The names of what a program gives."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.module import Module
from relay_tune.ir.types import TupleType, Type


def named_outputs(module: Module, result: Type) -> dict[str, Type]:
    """The types of the outputs by name: the fields of a tuple, or else the result itself."""
    types: Sequence[Type] = (result,)
    if isinstance(result, TupleType) and not is_one_output(module, result):
        types = result.fields
    return dict(zip(output_names(module, len(types)), types, strict=True))


def is_one_output(module: Module, result: Type) -> bool:
    """Whether the result is one output: no tuple of several, or one to which the module gives one
    name, as a sequence has.
    """
    given = module.attributes.get("outputs")
    has_one_name = isinstance(given, tuple | list) and len(given) == 1
    return has_one_name or not isinstance(result, TupleType) or len(result.fields) < 2


def output_names(module: Module, count: int) -> list[str]:
    """The names that the module gives so many outputs, if it does; else those by number."""
    given = module.attributes.get("outputs")
    if isinstance(given, tuple | list) and len(given) == count == len(set(map(str, given))):
        return [str(name) for name in given]
    return ["output"] if count == 1 else [f"output{n}" for n in range(count)]
