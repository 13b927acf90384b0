"""Running a function on another stack, and leaving it from anywhere.

    void relay_tune_enter(ptr session, ptr function)   function(session) on the session's stack
    void relay_tune_abort(ptr session)                 does not return: the last enter does

`enter` pushes the registers that a function must preserve, keeps the stack pointer in the session,
and calls the function on the other stack; coming back, or on `abort`, the kept stack pointer is
taken and the registers are popped. (System V ABI, AMD64 supplement, 3.2.1; AAPCS64, 6.1.1.) For
another processor family than this machine's, which LLVM does not assemble for, they are linked as
machine code (`relay_tune.machine.linking`).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.target import native_target
from relay_tune.errors import NoNativeCodeError
from relay_tune.targets.registry import BUILT_IN, architecture_of


def stack_switch_text(triple: str) -> str:
    """The two functions; NoNativeCodeError where they are not known for the processor."""
    own = architecture_of(triple)
    code = own.stack_switch
    if code is None:
        known = " and ".join(each.name for each in BUILT_IN if each.stack_switch is not None)
        raise NoNativeCodeError(
            f"Programs with control flow are compiled for {known}, not for {triple}."
        )
    if own is not architecture_of(native_target().triple):
        return (
            "declare void @relay_tune_enter(ptr, ptr)\n"
            "declare void @relay_tune_abort(ptr) noreturn\n"
        )
    return (
        "define internal void @relay_tune_enter(ptr %session, ptr %function) "
        f"naked noinline nounwind {{\n{_assembly(code.enter)}}}\n"
        "define internal void @relay_tune_abort(ptr %session) "
        f"naked noinline noreturn nounwind {{\n{_assembly(code.abort)}}}\n"
    )


def _assembly(instructions: Sequence[str]) -> str:
    lines = "\\0A".join(instructions)
    return f'  call void asm sideeffect "{lines}", ""()\n  unreachable\n'
