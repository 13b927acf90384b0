"""Making and ending sessions, and objects that callers build.

ptr  relay_tune_open(i64 threads)              a session, or null without memory
void relay_tune_close(ptr session)
void relay_tune_reset(ptr session)             frees all objects
ptr  relay_tune_object(ptr session, i64 class, i64 bytes, i32 info)   an object, or null
ptr  relay_tune_tensor(ptr session, ptr elements, i64 bytes)          a tensor, or null
ptr  relay_tune_retain(ptr object)             the object
void relay_tune_release(ptr session, ptr object)
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.programs.counts import RELEASE, RETAIN
from relay_tune.codegen.programs.heap import TAKE_BLOCK, WRITE_HEADER
from relay_tune.codegen.programs.queue_functions import FORGET_QUEUE
from relay_tune.codegen.programs.session import FREE_LISTS, REGIONS, THREADS
from relay_tune.codegen.programs.stack_switch import MAP_STACK, UNMAP_STACK
from relay_tune.codegen.programs.tensor_room import TENSOR_ROOM
from relay_tune.program.layouts import SIZE_CLASSES, TENSOR_DATA

OPEN_SESSION = function("ptr", "relay_tune_open", "i64")
CLOSE_SESSION = function("void", "relay_tune_close", "ptr")
RESET_SESSION = function("void", "relay_tune_reset", "ptr")
NEW_OBJECT = function("ptr", "relay_tune_object", "ptr", "i64", "i64", "i32")
NEW_TENSOR = function("ptr", "relay_tune_tensor", "ptr", "ptr", "i64")
RETAIN_OBJECT = function("ptr", "relay_tune_retain", "ptr")
RELEASE_OBJECT = function("void", "relay_tune_release", "ptr", "ptr")
HAND_OVER = function("ptr", "relay_tune_hand_over", "ptr")
FREE = function("void", "free", "ptr")

_CALLOC = function("ptr", "calloc", "i64", "i64")

SESSION_SYMBOLS = tuple(
    each.name
    for each in (
        *(OPEN_SESSION, CLOSE_SESSION, RESET_SESSION),
        *(RETAIN_OBJECT, RELEASE_OBJECT, HAND_OVER),
    )
)


def add_session_functions(module: NativeModule) -> None:
    """The functions of sessions; they need those of the heap, of the stack and of the queue."""
    _add_sessions(module)
    _add_objects(module)


def _add_sessions(module: NativeModule) -> None:
    module.external("relay_tune_session_bytes", "i64", "constant")
    with module.define(OPEN_SESSION) as code:
        bytes_ = code.symbol("relay_tune_session_bytes").load("i64")
        session = code.call(_CALLOC, 1, bytes_)
        code.ret_if(session.is_null(), code.null)
        session.at("i64", THREADS).store(code.parameters[0])
        code.ret_if(code.call(MAP_STACK, session), session)
        code.call(FREE, session)
        code.ret(code.null)
    with module.define(CLOSE_SESSION) as code:
        (session,) = code.parameters
        code.call(RESET_SESSION, session)
        code.call(UNMAP_STACK, session)
        code.call(FREE, session)
    with module.define(RESET_SESSION) as code:
        (session,) = code.parameters
        code.call(FORGET_QUEUE, session)
        regions = session.at("ptr", REGIONS)
        region = code.local(regions.load())
        regions.clear()
        code.fill(session.offset(FREE_LISTS), 0, 8 * SIZE_CLASSES)
        with code.loop() as freeing:
            current = region.value
            freeing.leave_if(current.is_null())
            region.set(current.load("ptr"))
            code.call(FREE, current)


def _add_objects(module: NativeModule) -> None:
    with module.define(NEW_OBJECT) as code:
        session, class_, bytes_, info = code.parameters
        block = code.call(TAKE_BLOCK, session, class_, bytes_)
        with code.when(~block.is_null()):
            code.call(WRITE_HEADER, block, info)
        code.ret(block)
    with module.define(NEW_TENSOR) as code:
        session, elements, bytes_ = code.parameters
        found = code.call(TENSOR_ROOM, bytes_)
        class_, room = found.part(0), found.part(1)
        tensor = code.call(NEW_OBJECT, session, class_, room, class_.trunc("i32"))
        with code.when(~tensor.is_null()):
            code.copy(tensor.offset(TENSOR_DATA), elements, bytes_)
        code.ret(tensor)
    with module.define(RETAIN_OBJECT) as code:
        code.call(RETAIN, code.parameters[0])
        code.ret(code.parameters[0])
    with module.define(RELEASE_OBJECT) as code:
        code.call(RELEASE, *code.parameters)
