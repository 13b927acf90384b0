"""Sessions that are left for later runs, and what is known of the last run that failed.

A run takes a session that an earlier one left, or a new one if other threads have them; so runs may
overlap, and memory is not asked for again and again.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import Variable, function, internal
from relay_tune.codegen.programs.session import FAILED_INDEX, FAILED_SIZE, NO_ERROR, THREADS
from relay_tune.codegen.programs.session_functions import (
    CLOSE_SESSION,
    OPEN_SESSION,
    RESET_SESSION,
)
from relay_tune.codegen.programs.weight_pages import LARGE_WEIGHTS

CLOSE_KEPT = internal("void", "close_kept")
FAILED = {"index": FAILED_INDEX, "size": FAILED_SIZE}
"""What tells which index was out of range: in a session, and of the last run that failed."""

_KEPT_SESSIONS = 16
"""At most so many sessions are left for later runs."""

_KEPT = Variable("kept", f"[{_KEPT_SESSIONS} x ptr]", "zeroinitializer")
_LAST_FAILED = {word: Variable(f"failed_{word}_of_last", "i64", "-1", 8) for word in FAILED}

_TAKE_KEPT = internal("ptr", "take_kept")
TAKE_SESSION = internal("ptr", "take_session", "i32")
LEAVE_SESSION = internal("void", "leave_session", "ptr", "i32")


def add_kept_sessions(module: NativeModule, threads: int, *, has_cells: bool) -> None:
    """The functions that take and leave sessions; those with cells are emptied after a run."""
    module.variables(_KEPT, *_LAST_FAILED.values())
    _add_take_session(module, threads)
    _add_leave_session(module, has_cells)


def _add_take_session(module: NativeModule, threads: int) -> None:
    with module.define(_TAKE_KEPT) as code:
        with code.count(_KEPT_SESSIONS) as each:
            session = code.at(_KEPT).pointer.item("ptr", each.index).update("xchg", code.null)
            each.again_if(session.is_null())
            code.ret(session)
        code.ret(code.null)
    with module.define(TAKE_SESSION) as code:
        (wanted,) = code.parameters
        taken = code.local(code.call(_TAKE_KEPT))
        with code.when(taken.value.is_null()):
            code.call(LARGE_WEIGHTS)
            taken.set(code.call(OPEN_SESSION, 0))
            code.ret_if(taken.value.is_null(), code.null)
        count = wanted.sgt(0).select(wanted, threads)
        taken.value.at("i64", THREADS).store(count.zext("i64"))
        code.ret(taken.value)


def _add_leave_session(module: NativeModule, has_cells: bool) -> None:
    with module.define(LEAVE_SESSION) as code:
        session, error = code.parameters
        with code.when(error.ne(NO_ERROR)):
            found = {word: session.at("i64", at).load() for word, at in FAILED.items()}
            with code.when(found["size"].sge(0)):
                for word, value in found.items():
                    code.at(_LAST_FAILED[word]).store(value, "monotonic")
        if has_cells:
            code.call(RESET_SESSION, session)
        with code.count(_KEPT_SESSIONS) as each:
            slot = code.at(_KEPT).pointer.item("ptr", each.index)
            code.ret_if(slot.replace(code.null, session))
        code.call(CLOSE_SESSION, session)
    with module.define(CLOSE_KEPT) as code, code.loop() as closing:
        session = code.call(_TAKE_KEPT)
        closing.leave_if(session.is_null())
        code.call(CLOSE_SESSION, session)


def add_failed(module: NativeModule, name: str, word: str, *, has_session: bool) -> None:
    """What is known of the failed index of a session, or, without one, of the last run."""
    parameters = ["ptr"] * has_session
    with module.define(function("i64", f"{name}_failed_{word}", *parameters)) as code:
        for session in code.parameters:
            with code.when(~session.is_null()):
                code.ret(session.at("i64", FAILED[word]).load())
        code.ret(code.at(_LAST_FAILED[word]).load("monotonic"))
