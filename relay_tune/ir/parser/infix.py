"""The symbols between operands: which operator each means, and how tightly it binds."""

from __future__ import annotations

PRECEDENCE = {
    "*": 4,
    "/": 4,
    "+": 3,
    "-": 3,
    "<": 2,
    "<=": 2,
    ">": 2,
    ">=": 2,
    "==": 1,
    "!=": 1,
}
"""The larger, the tighter; symbols of one precedence group from the left."""

OPERATOR_OF_SYMBOL = {
    "*": "multiply",
    "/": "divide",
    "+": "add",
    "-": "subtract",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}

NEGATION = "negative"
"""The operator of a `-` in front of an operand."""
