"""LLVM types of the values of first-order programs."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.llvm_types import memory_type, value_type
from relay_tune.program.kinds import Kind, ScalarKind


def llvm_type(kind: Kind) -> str:
    """The type of a register."""
    return value_type(kind.dtype) if isinstance(kind, ScalarKind) else "ptr"


def stored_type(kind: Kind) -> str:
    """The type of a field."""
    return memory_type(kind.dtype) if isinstance(kind, ScalarKind) else "ptr"


def result_type(results: Sequence[Kind]) -> str:
    """What a function returns in registers."""
    return llvm_type(results[0]) if results else "void"
