"""The version of what the code generator means by a schedule."""

from __future__ import annotations

CODE_VERSION = "28"
"""Counted up when generated code changes so much that old measurements no longer hold."""
