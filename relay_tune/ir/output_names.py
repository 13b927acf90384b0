"""The names of what a program gives."""

from __future__ import annotations

from relay_tune.ir.module import Module
from relay_tune.ir.types import TupleType, Type


def named_outputs(module: Module, result: Type) -> dict[str, Type]:
    """The types of the outputs by name: the fields of a tuple, or else the result itself."""
    types = result.fields if isinstance(result, TupleType) and len(result.fields) > 1 else (result,)
    return dict(zip(output_names(module, len(types)), types, strict=True))


def output_names(module: Module, count: int) -> list[str]:
    """The names that the module gives so many outputs, if it does; else those by number."""
    given = module.attributes.get("outputs")
    if isinstance(given, tuple | list) and len(given) == count == len(set(map(str, given))):
        return [str(name) for name in given]
    return ["output"] if count == 1 else [f"output{n}" for n in range(count)]
