"""The components of a program's inputs, and their words in the table of inputs."""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.errors import InputError
from relay_tune.ir.dim import Polynomial
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import component_types, is_open_type
from relay_tune.program.program import EntryPoint


def plain_inputs(entry: EntryPoint) -> list[tuple[str, TensorType]] | None:
    """The inputs, if they are tensors of known sizes as are the components of the output."""
    output = entry.output
    outputs = output.fields if isinstance(output, TupleType) else (output,)
    types = (*entry.inputs.values(), *outputs)
    if not all(isinstance(type_, TensorType) and not is_open_type(type_) for type_ in types):
        return None
    return [(name, type_) for name, type_ in entry.inputs.items() if isinstance(type_, TensorType)]


def has_computed_sizes(type_: Type) -> bool:
    """Whether sizes of a tensor are computed of those of others."""
    return isinstance(type_, TensorType) and any(isinstance(dim, Polynomial) for dim in type_.shape)


def word_count(*types: Type) -> int:
    """The words of the table of inputs: a tensor with open sizes has a second one for them."""
    parts = (part for type_ in types for part in component_types(type_))
    return sum(2 if is_open_type(part) else 1 for part in parts)


def parts_of(value: object, type_: Type, name: str) -> Iterator[object]:
    """The components of a value; InputError where it is no tuple."""
    if not isinstance(type_, TupleType):
        yield value
        return
    if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
        raise InputError(
            f"Input {name!r} must be a tuple of {len(type_.fields)} values.",
            remedy="Give a tuple with one value for each field.",
        )
    for index, (part, field) in enumerate(zip(value, type_.fields, strict=True)):
        yield from parts_of(part, field, f"{name}.{index}")


def named_parts(type_: Type, name: str) -> Iterator[tuple[str, Type, bool]]:
    """The components of an input with their names and types, and whether their sizes are open."""
    if not isinstance(type_, TupleType):
        yield name, type_, is_open_type(type_)
        return
    for index, field in enumerate(type_.fields):
        yield from named_parts(field, f"{name}.{index}")
