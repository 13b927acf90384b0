"""Names: how text has them, plain where they are identifiers, in quotes where not; free ones."""

from __future__ import annotations

import json
import re
from collections.abc import Container

KEYWORDS = frozenset(
    "let fn def if else type match extern free_var ref ref_read ref_write constructor meta "
    "True False".split()
)

IDENTIFIER = r"[A-Za-z_](?:[A-Za-z_0-9]|/(?=[A-Za-z_0-9]))*"
DOTTED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})*"
STRING = r'"(?:[^"\\\n]|\\.)*"'

SPECIAL_FLOAT = r"(?:inf|nan)(?:bf16|f16|f32|f64|f)(?![A-Za-z_0-9./])"

_PLAIN = re.compile(DOTTED)
_RESERVED = re.compile(rf"{SPECIAL_FLOAT}\Z|(?:{'|'.join(KEYWORDS)}|_|nullptr)\Z")


def quoted(text: str) -> str:
    """A string literal, in JSON's escapes."""
    return json.dumps(text)


def sigil_name(name: str) -> str:
    """A name as it stands after `%` or `@`."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def bare_name(name: str) -> str:
    """A name as it stands alone, where keywords are special."""
    if _RESERVED.match(name):
        return quoted(name)
    return sigil_name(name)


def free_name(wanted: str, taken: Container[str]) -> str:
    """The name itself, or with as many underscores as make it one that is not taken."""
    while wanted in taken:
        wanted += "_"
    return wanted
