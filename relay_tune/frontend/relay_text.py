"""Relay text in, with all operators known."""

import relay_tune.op  # noqa: F401  # registers the operators that the text may name
from relay_tune.ir.parser.parse import parse, parse_expr

__all__ = ["parse", "parse_expr"]
