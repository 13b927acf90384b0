"""Where the worker threads may run.

`place_workers` is called before a run: on Linux it lets the workers run on all processors that the
caller may use but the one it is on.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Variable, function, internal
from relay_tune.codegen.native_runtime.state import HANDLES, WORKERS

PLACE_WORKERS = internal("void", "place_workers")

_CALLER = Variable("caller_processor", "i32", "-1")
_PLACED = Variable("placed", "i64")
_WORDS = 16
_MASK = Variable("mask", f"[{_WORDS} x i64]", "zeroinitializer")

_GETCPU = function("i32", "sched_getcpu")
_GETAFFINITY = function("i32", "sched_getaffinity", "i32", "i64", "ptr")
_SETAFFINITY = function("i32", "pthread_setaffinity_np", "i64", "i64", "ptr")


def add_placing(module: NativeModule, triple: str) -> None:
    """The function."""
    with module.define(PLACE_WORKERS) as code:
        if "linux" in triple:
            module.variables(_CALLER, _PLACED, _MASK)
            _place(code)


def _place(code: FunctionBuilder) -> None:
    processor = code.call(_GETCPU)
    code.ret_if(processor.uge(64 * _WORDS))
    caller, placed, workers = code.at(_CALLER), code.at(_PLACED), code.at(WORKERS).load()
    code.ret_if(caller.load().eq(processor) & placed.load().eq(workers))
    caller.store(processor)
    placed.store(workers)
    mask = code.at(_MASK).pointer
    code.ret_if(code.call(_GETAFFINITY, 0, 8 * _WORDS, mask).slt(0))
    number = processor.zext("i64")
    own = mask.item("i64", number.lshr(6))
    own.store(own.load() & ~(1 << (number & 63)))
    code.ret_if(_union(code, mask).eq(0))
    with code.count(workers) as each:
        handle = code.at(HANDLES).pointer.item("i64", each.index).load()
        code.call(_SETAFFINITY, handle, 8 * _WORDS, mask)


def _union(code: FunctionBuilder, mask: Operand) -> Operand:
    """The bits of all words of a mask."""
    found = code.local(0)
    with code.count(_WORDS) as each:
        found.set(found.value | mask.item("i64", each.index).load())
    return found.value
