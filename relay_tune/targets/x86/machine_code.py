"""The few functions that no LLVM IR can say, as machine code.

void relay_tune_cpuid(i32 leaf, i32 subleaf, ptr answer)   eax, ebx, ecx, edx
i32  relay_tune_saved_state()          the state that the system saves, XCR0
void relay_tune_enter(ptr session, ptr function)   `relay_tune.codegen.programs.stack_switch`
void relay_tune_abort(ptr session)
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.machine.listing import machine_code

_CPUID = """
    53           push %rbx
    49 89 d0     mov %rdx, %r8
    89 f8        mov %edi, %eax
    89 f1        mov %esi, %ecx
    0f a2        cpuid
    41 89 00     mov %eax, (%r8)
    41 89 58 04  mov %ebx, 4(%r8)
    41 89 48 08  mov %ecx, 8(%r8)
    41 89 50 0c  mov %edx, 12(%r8)
    5b           pop %rbx
    c3           ret
"""

_SAVED_STATE = """
    31 c9        xor %ecx, %ecx
    0f 01 d0     xgetbv
    c3           ret
"""

_RESTORE = """
    48 83 c4 08  add $8, %rsp
    41 5f        pop %r15
    41 5e        pop %r14
    41 5d        pop %r13
    41 5c        pop %r12
    5b           pop %rbx
    5d           pop %rbp
    c3           ret
"""

_ENTER = """
    55           push %rbp
    53           push %rbx
    41 54        push %r12
    41 55        push %r13
    41 56        push %r14
    41 57        push %r15
    48 83 ec 08  sub $8, %rsp
    48 89 27     mov %rsp, (%rdi)
    48 8b 67 08  mov 8(%rdi), %rsp
    48 89 fb     mov %rdi, %rbx
    ff d6        call *%rsi
    48 8b 23     mov (%rbx), %rsp
"""

_ABORT = """
    48 8b 27     mov (%rdi), %rsp
"""

FUNCTIONS: Mapping[str, bytes] = {
    "relay_tune_cpuid": machine_code(_CPUID),
    "relay_tune_saved_state": machine_code(_SAVED_STATE),
    "relay_tune_enter": machine_code(_ENTER, _RESTORE),
    "relay_tune_abort": machine_code(_ABORT, _RESTORE),
}
"""By name."""
