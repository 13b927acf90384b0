"""Running a function on another stack (`relay_tune.codegen.programs.stack_switch`), assembled."""

from __future__ import annotations

from relay_tune.machine.architecture import StackSwitch

_PAIRS = ("x19, x20", "x21, x22", "x23, x24", "x25, x26", "x27, x28", "x29, x30")
_FLOATS = ("d8, d9", "d10, d11", "d12, d13", "d14, d15")
_SAVED = tuple(enumerate((*_PAIRS, *_FLOATS)))
_POP = (
    *(f"ldp {pair}, [sp, #{16 * slot}]" for slot, pair in _SAVED),
    "add sp, sp, #160",
    "ret",
)
_ENTER = (
    "sub sp, sp, #160",
    *(f"stp {pair}, [sp, #{16 * slot}]" for slot, pair in _SAVED),
    "mov x9, sp",
    "str x9, [x0]",
    "ldr x9, [x0, #8]",
    "mov sp, x9",
    "mov x19, x0",
    "blr x1",
    "ldr x9, [x19]",
    "mov sp, x9",
    *_POP,
)
_ABORT = ("ldr x9, [x0]", "mov sp, x9", *_POP)

STACK_SWITCH = StackSwitch(_ENTER, _ABORT)
