"""Reference counts of objects.

Static objects have negative counts, which stay as they are.

`relay_tune_drop` frees an object whose last reference has gone, and all that die with it. The dying
objects wait in a list that is linked through themselves, so a list of any length needs no stack.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.heap import GIVE_BLOCK
from relay_tune.program.layouts import LINK

RETAIN = internal("void", "retain", "ptr")
LOSE = internal("i1", "lose", "ptr")
RELEASE = internal("void", "release", "ptr", "ptr")
DROP = function("void", "relay_tune_drop", "ptr", "ptr")


def class_number(object_: Operand) -> Operand:
    """The size class of an object."""
    return object_.at("i16", 4).load().zext("i64")


def layout_number(object_: Operand) -> Operand:
    """The number of an object's layout."""
    return object_.at("i16", 6).load().zext("i64")


def add_counts(module: NativeModule) -> None:
    """The functions that count references."""
    with module.define(RETAIN) as code:
        count = code.parameters[0].at("i32")
        before = count.load()
        with code.when(before.sge(0)):
            count.store(before + 1)
    with module.define(LOSE) as code:
        count = code.parameters[0].at("i32")
        before = count.load()
        code.ret_if(before.slt(0), False)
        count.store(before - 1)
        code.ret(before.eq(1))
    with module.define(RELEASE) as code:
        session, object_ = code.parameters
        with code.when(code.call(LOSE, object_)):
            code.call(DROP, session, object_)


def add_drop(module: NativeModule) -> None:
    """The function that frees objects; it needs the heap's, and the tables of the layouts."""
    module.external("relay_tune_layouts", "ptr", "constant")
    with module.define(DROP) as code:
        session, object_ = code.parameters
        object_.at("ptr", LINK).clear()
        waiting = code.local(object_)
        with code.loop() as dropping:
            current = waiting.value
            waiting.set(current.at("ptr", LINK).load())
            layouts = code.symbol("relay_tune_layouts")
            offset = code.local(layouts.item("ptr", layout_number(current)).load())
            with code.loop() as fields:
                number = offset.value.load("i32")
                fields.leave_if(number.eq(0))
                offset.set(offset.value.offset(4))
                part = current.offset(number.zext("i64")).load("ptr")
                fields.again_if(~code.call(LOSE, part))
                part.at("ptr", LINK).store(waiting.value)
                waiting.set(part)
            code.call(GIVE_BLOCK, session, current, class_number(current))
            dropping.leave_if(waiting.value.is_null())


def add_drop_tensor(module: NativeModule) -> None:
    """The same where all objects are tensors."""
    with module.define(DROP) as code:
        session, object_ = code.parameters
        code.call(GIVE_BLOCK, session, object_, class_number(object_))
