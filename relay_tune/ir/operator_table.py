"""The table of operators by name; `relay_tune.ir.operator` says what an operator is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPERATORS: dict[str, Callable[..., Any]] = {}
"""Filled by `relay_tune.ir.operator.register`."""
