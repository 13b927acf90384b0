"""Modules as JSON: the text of the program beside its tensors, with a version.

    {"format": "relay_tune", "version": 1,
     "program": "#[version = ...] def @main ...",
     "constants": [{"dtype": "float32", "shape": [2], "data": "base64"}, ...]}

The program is Relay text, which has an exact round trip; its `meta[relay.Constant][n]` are the
entries of `constants`. What a stranger's file can do is what a stranger's text can do: be refused.
"""

from __future__ import annotations

import json
from typing import Any

from relay_tune.arguments import instance_of
from relay_tune.errors import ParseError
from relay_tune.ir.metadata import CONSTANTS, HEADER
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.parser.parse import parse

FORMAT = "relay_tune"
VERSION = 1


def to_json(module: Module) -> str:
    """The module as JSON; inferred types and locations are left out."""
    text = require_module(module).astext()
    program, _, metadata = text.partition(f"\n{HEADER}\n")  # strings have no newlines
    constants = json.loads(metadata)[CONSTANTS] if metadata else []
    document = {"format": FORMAT, "version": VERSION, "program": program, "constants": constants}
    return json.dumps(document, indent=1) + "\n"


def from_json(text: str, source_name: str = "from_json") -> Module:
    """The module that a JSON text describes; spans point into its program.

    Raises ParseError; InputError for what is no text.
    """
    instance_of(str, text, "The JSON text", "Read files with Path(name).read_text().")
    document = read_document(text)
    if document is None:
        raise _error(f'is no JSON object with "format": "{FORMAT}"', source_name)
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise _error(f"has the version {version!r}; only {VERSION} can be read", source_name)
    if document.keys() != {"format", "version", "program", "constants"}:
        raise _error("has not just the keys format, version, program and constants", source_name)
    program = document["program"]
    if not isinstance(program, str):
        raise _error("has a program that is not the text of one", source_name)
    metadata = json.dumps({CONSTANTS: document["constants"]})
    return parse(f"{program}\n{HEADER}\n{metadata}\n", source_name)


def read_document(text: str) -> dict[str, Any] | None:
    """The JSON object of a module, None if the text is something else."""
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return document
    return None


def _error(what: str, source_name: str) -> ParseError:
    return ParseError(
        f"The text {what}.", where=source_name, remedy="Write it with rt.to_json(module)."
    )
