"""Running a function on another stack (`relay_tune.codegen.programs.stack_switch`), assembled."""

from __future__ import annotations

from relay_tune.machine.architecture import StackSwitch

_POP = (
    "add $$8, %rsp",
    "pop %r15",
    "pop %r14",
    "pop %r13",
    "pop %r12",
    "pop %rbx",
    "pop %rbp",
    "ret",
)
_ENTER = (
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
    *_POP,
)
_ABORT = ("mov (%rdi), %rsp", *_POP)

STACK_SWITCH = StackSwitch(_ENTER, _ABORT)
