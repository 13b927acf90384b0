"""What the machine code of all programs has in common: compiled once in a process.

The functions of sessions, and those that free, make and read objects that are no tensors. What
depends on the program they find under names that the program's own code defines: the size of a
session, the tables of its layouts, its stack and the kernels that wait. Functions of the heap that
become parts of others are in all.
"""

from __future__ import annotations

from functools import cache

from relay_tune.codegen.compiler import compile_optimized
from relay_tune.codegen.programs.build_text import build_text
from relay_tune.codegen.programs.count_text import DROP_TEXT
from relay_tune.codegen.programs.heap_text import heap_text
from relay_tune.codegen.programs.read_text import read_text
from relay_tune.codegen.programs.region_text import region_text
from relay_tune.codegen.programs.session_text import session_text
from relay_tune.codegen.programs.tensor_room_text import tensor_room_text
from relay_tune.codegen.target import Target

SESSION_DECLARATIONS = """\
declare ptr @relay_tune_new_region(ptr, i64, i64)
declare void @relay_tune_reset(ptr)
"""
"""What the code of programs needs of the functions of sessions."""

DROP_DECLARATION = "declare void @relay_tune_drop(ptr, ptr)"
_ABORT = "declare void @relay_tune_abort(ptr) noreturn"
_COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def session_objects(target: Target, has_objects: bool) -> tuple[bytes, ...]:
    """The object files; `has_objects`: with the functions of objects that are no tensors."""
    return (_sessions(target), _objects(target)) if has_objects else (_sessions(target),)


@cache
def _sessions(target: Target) -> bytes:
    heap = (DROP_DECLARATION, heap_text(), tensor_room_text(), region_text())
    return _compiled((*heap, session_text()), target)


@cache
def _objects(target: Target) -> bytes:
    heap = (SESSION_DECLARATIONS, heap_text(), DROP_TEXT)
    return _compiled((*heap, build_text(), read_text()), target)


def _compiled(texts: tuple[str, ...], target: Target) -> bytes:
    head = (f'target triple = "{target.triple}"', _ABORT, _COPY)
    return compile_optimized("\n".join((*head, *texts)), target)
