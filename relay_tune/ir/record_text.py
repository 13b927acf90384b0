"""Records of attributes as text of their own, and back: as the printer writes them in a call."""

from __future__ import annotations

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Operator
from relay_tune.ir.parser.attributes import AttributeParser
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.printer.attributes import record_texts
from relay_tune.ir.source import Source
from relay_tune.remembered import remembered


def text_of_record(record: Attributes | None) -> str:
    """The attributes that are not at their defaults: `axis=(1,), keepdims=True`."""
    return ", ".join(record_texts(record))


@remembered(1024, lasts=True)
def record_of_text(operator: Operator, text: str) -> Attributes:
    """The attributes of a call of an operator, given as text; raises ParseError."""
    cursor = Cursor(Source(f"{text})", f"attributes of {operator.name}"))
    start = cursor.token
    parser = AttributeParser(cursor)
    return parser.record(operator, parser.attributes(")"), start)
