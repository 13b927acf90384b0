"""The two functions that no LLVM IR can say, as machine code.

void relay_tune_enter(ptr session, ptr function)   `relay_tune.codegen.programs.stack_switch`
void relay_tune_abort(ptr session)
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.machine.listing import machine_code

_RESTORE = """
    f3 53 40 a9  ldp x19, x20, [sp]
    f5 5b 41 a9  ldp x21, x22, [sp, #16]
    f7 63 42 a9  ldp x23, x24, [sp, #32]
    f9 6b 43 a9  ldp x25, x26, [sp, #48]
    fb 73 44 a9  ldp x27, x28, [sp, #64]
    fd 7b 45 a9  ldp x29, x30, [sp, #80]
    e8 27 46 6d  ldp d8, d9, [sp, #96]
    ea 2f 47 6d  ldp d10, d11, [sp, #112]
    ec 37 48 6d  ldp d12, d13, [sp, #128]
    ee 3f 49 6d  ldp d14, d15, [sp, #144]
    ff 83 02 91  add sp, sp, #160
    c0 03 5f d6  ret
"""

_ENTER = """
    ff 83 02 d1  sub sp, sp, #160
    f3 53 00 a9  stp x19, x20, [sp]
    f5 5b 01 a9  stp x21, x22, [sp, #16]
    f7 63 02 a9  stp x23, x24, [sp, #32]
    f9 6b 03 a9  stp x25, x26, [sp, #48]
    fb 73 04 a9  stp x27, x28, [sp, #64]
    fd 7b 05 a9  stp x29, x30, [sp, #80]
    e8 27 06 6d  stp d8, d9, [sp, #96]
    ea 2f 07 6d  stp d10, d11, [sp, #112]
    ec 37 08 6d  stp d12, d13, [sp, #128]
    ee 3f 09 6d  stp d14, d15, [sp, #144]
    e9 03 00 91  mov x9, sp
    09 00 00 f9  str x9, [x0]
    09 04 40 f9  ldr x9, [x0, #8]
    3f 01 00 91  mov sp, x9
    f3 03 00 aa  mov x19, x0
    20 00 3f d6  blr x1
    69 02 40 f9  ldr x9, [x19]
    3f 01 00 91  mov sp, x9
"""

_ABORT = """
    09 00 40 f9  ldr x9, [x0]
    3f 01 00 91  mov sp, x9
"""

FUNCTIONS: Mapping[str, bytes] = {
    "relay_tune_enter": machine_code(_ENTER, _RESTORE),
    "relay_tune_abort": machine_code(_ABORT, _RESTORE),
}
"""By name."""
