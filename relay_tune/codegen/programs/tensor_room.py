"""The memory of a tensor whose size is known at run time only.

    { i64, i64 } tensor_room(i64 bytes)          the size class of an object with so many bytes of
                                                 elements, and that class's bytes

    ptr allocate_open(ptr session, i64 bytes)    a new object with room for these elements
    ptr reshaped(ptr session, ptr tensor, i64 bytes)
                                                 the tensor, if it may get another shape; else a
                                                 copy, and one reference less

The class of a size is found as `relay_tune.program.layouts.size_class` does: steps of 16 bytes,
then four classes a power of two.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.programs.counts import LOSE
from relay_tune.codegen.programs.heap import ALLOCATE
from relay_tune.program.layouts import SMALL_LIMIT, SMALL_STEP, TENSOR_DATA

TENSOR_ROOM = internal("{ i64, i64 }", "tensor_room", "i64")
ALLOCATE_OPEN = internal("ptr", "allocate_open", "ptr", "i64")
RESHAPED = internal("ptr", "reshaped", "ptr", "ptr", "i64")

_LEADING_ZEROS = function("i64", "llvm.ctlz.i64", "i64", "i1", attributes="")
_LARGE_BASE = SMALL_LIMIT // SMALL_STEP - 4 * (SMALL_LIMIT.bit_length() - 1) - 1


def add_tensor_room(module: NativeModule) -> None:
    """The function that finds the size class."""
    with module.define(TENSOR_ROOM) as code:
        size = (code.parameters[0] + (TENSOR_DATA + 63)) & -64
        with code.when(size.ule(SMALL_LIMIT)):
            code.ret(code.pack(size.udiv(SMALL_STEP) - 1, size))
        power = 63 - code.call(_LEADING_ZEROS, size - 1, True)
        shift, whole = power - 2, 1 << power
        quarters = (size - whole + (1 << shift) - 1).lshr(shift)
        class_ = (power << 2) + _LARGE_BASE + quarters
        code.ret(code.pack(class_, whole + (quarters << shift)))


def add_open_tensors(module: NativeModule) -> None:
    """The functions that make tensors; they need the heap's."""
    with module.define(ALLOCATE_OPEN) as code:
        session, bytes_ = code.parameters
        found = code.call(TENSOR_ROOM, bytes_)
        class_ = found.part(0)
        code.ret(code.call(ALLOCATE, session, class_, found.part(1), class_.trunc("i32")))
    with module.define(RESHAPED) as code:
        session, tensor, bytes_ = code.parameters
        code.ret_if(tensor.load("i32").eq(1), tensor)
        copy = code.call(ALLOCATE_OPEN, session, bytes_)
        code.copy(copy.offset(TENSOR_DATA), tensor.offset(TENSOR_DATA), bytes_)
        code.call(LOSE, tensor)
        code.ret(copy)
