"""The few functions that no LLVM IR can say, as machine code.

LLVM assembles only for the processor family that it runs on; a library may be for another. So the
bytes are written down here, with what they mean.

    void relay_tune_cpuid(i32 leaf, i32 subleaf, ptr answer)   eax, ebx, ecx, edx    (x86-64)
    i32  relay_tune_saved_state()          the state that the system saves, XCR0     (x86-64)
    void relay_tune_enter(ptr session, ptr function)   `relay_tune.codegen.programs.stack_switch`
    void relay_tune_abort(ptr session)
"""

from __future__ import annotations

from collections.abc import Mapping

_X86_CPUID = """
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

_X86_SAVED_STATE = """
    31 c9        xor %ecx, %ecx
    0f 01 d0     xgetbv
    c3           ret
"""

_X86_RESTORE = """
    48 83 c4 08  add $8, %rsp
    41 5f        pop %r15
    41 5e        pop %r14
    41 5d        pop %r13
    41 5c        pop %r12
    5b           pop %rbx
    5d           pop %rbp
    c3           ret
"""

_X86_ENTER = """
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

_X86_ABORT = """
    48 8b 27     mov (%rdi), %rsp
"""

_ARM_RESTORE = """
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

_ARM_ENTER = """
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

_ARM_ABORT = """
    09 00 40 f9  ldr x9, [x0]
    3f 01 00 91  mov sp, x9
"""

_BYTES_END = 17
"""The column where the instruction begins, in text; its bytes stand before."""


def _code(*listings: str) -> bytes:
    lines = [line for listing in listings for line in listing.splitlines()]
    return bytes.fromhex("".join(line[:_BYTES_END] for line in lines))


_FUNCTIONS: dict[str, dict[str, bytes]] = {
    "x86_64": {
        "relay_tune_cpuid": _code(_X86_CPUID),
        "relay_tune_saved_state": _code(_X86_SAVED_STATE),
        "relay_tune_enter": _code(_X86_ENTER, _X86_RESTORE),
        "relay_tune_abort": _code(_X86_ABORT, _X86_RESTORE),
    },
    "aarch64": {
        "relay_tune_enter": _code(_ARM_ENTER, _ARM_RESTORE),
        "relay_tune_abort": _code(_ARM_ABORT, _ARM_RESTORE),
    },
}


def machine_code(family: str) -> Mapping[str, bytes]:
    """The functions that there are for a processor family, by name."""
    return _FUNCTIONS.get(family, {})
