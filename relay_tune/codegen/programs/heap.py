"""The heap of a session: blocks of size classes for its objects.

Blocks of a class form a free list, linked through the objects' second word. New blocks come from
regions of the system's allocator (`memory_regions`), many small ones from one region, and stay in
their class until the session ends or is reset; so the memory of a program that runs on and on is
that of its peak. The link of a living object is null; `counts` has how it dies.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Location, Operand
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.session import ERROR, FREE_LISTS, NO_MEMORY
from relay_tune.program.layouts import LINK

TAKE_BLOCK = internal("ptr", "take_block", "ptr", "i64", "i64")
ALLOCATE = internal("ptr", "allocate", "ptr", "i64", "i64", "i32")
WRITE_HEADER = internal("void", "write_header", "ptr", "i32", attributes="nounwind alwaysinline")
FAIL = internal("void", "fail", "ptr", "i64", attributes="noinline noreturn nounwind cold")
GIVE_BLOCK = internal("void", "give_block", "ptr", "ptr", "i64")

NEW_REGION = function(
    "ptr", "relay_tune_new_region", "ptr", "i64", "i64", attributes="noinline nounwind"
)
ABORT = function("void", "relay_tune_abort", "ptr", attributes="noreturn")


def free_list(session: Operand, class_: Operand) -> Location:
    """The first free block of a size class."""
    return session.offset(FREE_LISTS).item("ptr", class_)


def add_heap(module: NativeModule) -> None:
    """The functions that take blocks."""
    with module.define(TAKE_BLOCK) as code:
        session, class_, bytes_ = code.parameters
        first = free_list(session, class_)
        block = first.load()
        with code.when(block.is_null()):
            code.ret(code.call(NEW_REGION, session, class_, bytes_))
        first.store(block.at("ptr", LINK).load())
        code.ret(block)
    with module.define(ALLOCATE) as code:
        session, class_, bytes_, info = code.parameters
        block = code.call(TAKE_BLOCK, session, class_, bytes_)
        with code.when(block.is_null(), unlikely=True):
            code.call(FAIL, session, NO_MEMORY)
        code.call(WRITE_HEADER, block, info)
        code.ret(block)
    with module.define(WRITE_HEADER) as code:
        block, info = code.parameters
        block.at("i32").store(1)
        block.at("i32", 4).store(info)
        block.at("ptr", LINK).clear()
    with module.define(FAIL) as code:
        session, error = code.parameters
        session.at("i64", ERROR).store(error)
        code.call(ABORT, session)
    with module.define(GIVE_BLOCK) as code:
        session, object_, class_ = code.parameters
        first = free_list(session, class_)
        object_.at("ptr", LINK).store(first.load())
        first.store(object_)
