"""Attributes as text: of operator calls (what differs from the defaults), functions, modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay_tune.ir.attribute_check import declared_attributes, default_value
from relay_tune.ir.expr import Attributes, AttributeValue
from relay_tune.ir.names import quoted, sigil_name
from relay_tune.ir.printer.types import list_text


def record_texts(record: Attributes | None) -> Iterator[str]:
    """`name=value` for each attribute that is not at its default."""
    if record is None:
        return
    for name, entry in declared_attributes(type(record)).items():
        value = getattr(record, name)
        if not _same(value, default_value(entry)):
            yield f"{name}={value_text(value)}"


def mapping_texts(attributes: Mapping[str, AttributeValue]) -> Iterator[str]:
    """`name=value` for each entry."""
    for name, value in attributes.items():
        yield f"{sigil_name(name)}={value_text(value)}"


def value_text(value: AttributeValue) -> str:
    """A value as the parser reads it back, type included: 1, 1f and True differ."""
    match value:
        case float():
            return repr(value).removesuffix(".0") + "f"
        case str():
            return quoted(value)
        case tuple():
            return list_text([value_text(part) for part in value])
        case list():
            return f"[{', '.join(value_text(part) for part in value)}]"
        case _:
            return str(value)


def _same(value: AttributeValue, default: object) -> bool:
    """Equality that tells 1 from True and 0.0 from -0.0; repr of plain values does."""
    return repr(value) == repr(default)
