"""Outputs that a caller in C gets as tensors of its own.

    ptr  new_output(i64 bytes)                          room for elements, or null
    i1   give(ptr session, ptr object, ptr slot, ptr shape, i64 rank, i64 item)
                                                        false without memory
    void drop_outputs(ptr outputs, i64 count)           after an error
    void NAME_free(ptr output)

`give` puts the address of an object's elements into `slot`, and its sizes where the caller wants
them. A large tensor is taken out of the session's heap, of a small one there is a copy. All
elements begin HEAD_BYTES behind the start of their memory.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.memory_regions import ALIGNED_MEMORY, REGION_HEAD_BYTES
from relay_tune.codegen.programs.session_functions import FREE, HAND_OVER, RELEASE_OBJECT
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_SHAPE

HEAD_BYTES = REGION_HEAD_BYTES + TENSOR_DATA
"""What stands before the elements of a tensor that is alone in its memory."""

NEW_OUTPUT = internal("ptr", "new_output", "i64")
DROP_OUTPUTS = internal("void", "drop_outputs", "ptr", "i64")
GIVE = internal("i1", "give", "ptr", "ptr", "ptr", "ptr", "i64", "i64")


def add_giving(module: NativeModule, name: str) -> None:
    """The functions of the library `name`."""
    free_output = function("void", f"{name}_free", "ptr")
    with module.define(NEW_OUTPUT) as code:
        room = code.stack_slot(8)
        failed = code.call(ALIGNED_MEMORY, room, 64, code.parameters[0] + HEAD_BYTES)
        code.ret_if(failed.ne(0), code.null)
        code.ret(room.load("ptr").offset(HEAD_BYTES))
    with module.define(free_output) as code:
        (output,) = code.parameters
        with code.when(~output.is_null()):
            code.call(FREE, output.offset(-HEAD_BYTES))
    with module.define(DROP_OUTPUTS) as code:
        outputs, count = code.parameters
        with code.count(count) as each:
            slot = outputs.item("ptr", each.index)
            code.call(free_output, slot.load())
            slot.clear()
    _add_give(module)


def _add_give(module: NativeModule) -> None:
    with module.define(GIVE) as code:
        session, object_, slot, shape, rank, item = code.parameters
        sizes = object_.offset(TENSOR_SHAPE)
        code.copy(shape, sizes, rank << 3)
        elements = code.local(object_.offset(TENSOR_DATA))
        with code.when(code.call(HAND_OVER, object_).is_null()):
            bytes_ = code.local(item)
            with code.count(rank) as axis:
                bytes_.set(bytes_.value * sizes.item("i64", axis.index).load())
            new = code.call(NEW_OUTPUT, bytes_.value)
            code.ret_if(new.is_null(), False)
            code.copy(new, elements.value, bytes_.value)
            code.call(RELEASE_OBJECT, session, object_)
            elements.set(new)
        slot.store(elements.value)
        code.ret(True)
