"""Running a function on another stack, and leaving it from anywhere.

    void relay_tune_enter(ptr session, ptr function)   function(session) on the session's stack
    void relay_tune_abort(ptr session)                 does not return: the last enter does

`enter` pushes the registers that a function must preserve, keeps the stack pointer in the session,
and calls the function on the other stack; coming back, or on `abort`, the kept stack pointer is
taken and the registers are popped. (System V ABI, AMD64 supplement, 3.2.1; AAPCS64, 6.1.1.) For
another processor family than this machine's, which LLVM does not assemble for, they are linked as
machine code (`relay_tune.codegen.machine_code`).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.processor_features import architecture
from relay_tune.codegen.target import native_target
from relay_tune.errors import NoNativeCodeError

_X86_POP = (
    "add $$8, %rsp",
    "pop %r15",
    "pop %r14",
    "pop %r13",
    "pop %r12",
    "pop %rbx",
    "pop %rbp",
    "ret",
)
_X86_ENTER = (
    "push %rbp",
    "push %rbx",
    "push %r12",
    "push %r13",
    "push %r14",
    "push %r15",
    "sub $$8, %rsp",
    "mov %rsp, (%rdi)",
    "mov 8(%rdi), %rsp",
    "mov %rdi, %rbx",
    "call *%rsi",
    "mov (%rbx), %rsp",
    *_X86_POP,
)
_X86_ABORT = ("mov (%rdi), %rsp", *_X86_POP)

_ARM_PAIRS = ("x19, x20", "x21, x22", "x23, x24", "x25, x26", "x27, x28", "x29, x30")
_ARM_FLOATS = ("d8, d9", "d10, d11", "d12, d13", "d14, d15")
_ARM_SAVED = tuple(enumerate((*_ARM_PAIRS, *_ARM_FLOATS)))
_ARM_POP = (
    *(f"ldp {pair}, [sp, #{16 * place}]" for place, pair in _ARM_SAVED),
    "add sp, sp, #160",
    "ret",
)
_ARM_ENTER = (
    "sub sp, sp, #160",
    *(f"stp {pair}, [sp, #{16 * place}]" for place, pair in _ARM_SAVED),
    "mov x9, sp",
    "str x9, [x0]",
    "ldr x9, [x0, #8]",
    "mov sp, x9",
    "mov x19, x0",
    "blr x1",
    "ldr x9, [x19]",
    "mov sp, x9",
    *_ARM_POP,
)
_ARM_ABORT = ("ldr x9, [x0]", "mov sp, x9", *_ARM_POP)

_CODE = {"x86_64": (_X86_ENTER, _X86_ABORT), "aarch64": (_ARM_ENTER, _ARM_ABORT)}


def stack_switch_text(triple: str) -> str:
    """The two functions; NoNativeCodeError where they are not known for the processor."""
    code = _CODE.get(architecture(triple))
    if code is None:
        raise NoNativeCodeError(
            f"Programs with control flow are compiled for {' and '.join(_CODE)}, not for {triple}."
        )
    if architecture(triple) != architecture(native_target().triple):
        return (
            "declare void @relay_tune_enter(ptr, ptr)\n"
            "declare void @relay_tune_abort(ptr) noreturn\n"
        )
    enter, leave = code
    return (
        "define internal void @relay_tune_enter(ptr %session, ptr %function) "
        f"naked noinline nounwind {{\n{_assembly(enter)}}}\n"
        "define internal void @relay_tune_abort(ptr %session) "
        f"naked noinline noreturn nounwind {{\n{_assembly(leave)}}}\n"
    )


def _assembly(instructions: Sequence[str]) -> str:
    lines = "\\0A".join(instructions)
    return f'  call void asm sideeffect "{lines}", ""()\n  unreachable\n'
