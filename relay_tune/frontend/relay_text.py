"""Relay text and JSON in, with all operators known."""

import relay_tune.op  # noqa: F401  # registers the operators that the text may name
from relay_tune.ir.json_form import from_json
from relay_tune.ir.parser.parse import parse, parse_expr

__all__ = ["from_json", "parse", "parse_expr"]
