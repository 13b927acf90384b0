"""The memory of a tensor whose size is known at run time only.

    { i64, i64 } tensor_room(i64 bytes)          the size class of an object with so many bytes of
                                                 elements, and that class's bytes

The class of a size is found as `relay_tune.first_order.layouts.size_class` does: steps of 16 bytes,
then four classes a power of two.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.first_order.layouts import SMALL_LIMIT, SMALL_STEP, TENSOR_DATA

TENSOR_ROOM = internal("{ i64, i64 }", "tensor_room", "i64")

_LEADING_ZEROS = function("i64", "llvm.ctlz.i64", "i64", "i1", attributes="")
_LARGE_BASE = SMALL_LIMIT // SMALL_STEP - 4 * (SMALL_LIMIT.bit_length() - 1) - 1


def add_tensor_room(module: NativeModule) -> None:
    """The function."""
    with module.define(TENSOR_ROOM) as code:
        size = (code.parameters[0] + (TENSOR_DATA + 63)) & -64
        with code.when(size.ule(SMALL_LIMIT)):
            code.ret(code.pack(size.udiv(SMALL_STEP) - 1, size))
        power = 63 - code.call(_LEADING_ZEROS, size - 1, True)
        shift, whole = power - 2, 1 << power
        quarters = (size - whole + (1 << shift) - 1).lshr(shift)
        class_ = (power << 2) + _LARGE_BASE + quarters
        code.ret(code.pack(class_, whole + (quarters << shift)))
