"""The stack on which a program runs, and leaving the program from anywhere, as LLVM IR.

    void relay_tune_enter(ptr session, ptr function)   function(session) on the program's stack
    void relay_tune_abort(ptr session)                 does not return: the last enter does
    i1   relay_tune_map_stack(ptr session)             makes the stack; false without memory
    void relay_tune_unmap_stack(ptr session)

A program whose functions call each other runs on a stack of its session: `enter` pushes the
registers that a function must preserve, keeps the stack pointer in the session, and calls the
function on the other stack; coming back, or on `abort`, the kept stack pointer is taken and the
registers are popped. (System V ABI, AMD64 supplement, 3.2.1; AAPCS64, 6.1.1.) For another processor
family than this machine's, which LLVM does not assemble for, they are linked as machine code
(`relay_tune.machine.linking`).

Other programs, such as networks, need little stack: they run on the caller's, for every processor,
and `abort` is the C library's `longjmp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.programs.session import (
    SAVED_STACK,
    STACK_BYTES,
    STACK_LIMIT,
    STACK_RESERVE,
    STACK_TOP,
)
from relay_tune.codegen.target import native_target
from relay_tune.errors import NoNativeCodeError
from relay_tune.targets.registry import BUILT_IN, architecture_of

JUMP_BUFFER_BYTES = 1024
"""At least the size of `jmp_buf`: 200 bytes on x86-64, 312 on AArch64, with glibc."""

_LINUX_FLAGS = 0x02 | 0x20 | 0x4000 | 0x20000  # MAP_PRIVATE, ANONYMOUS, NORESERVE, STACK
_DARWIN_FLAGS = 0x0002 | 0x1000 | 0x0040  # MAP_PRIVATE, MAP_ANON, MAP_NORESERVE


def stack_text(triple: str, has_calls: bool) -> str:
    """The four functions, for a program with or without calls of its functions.

    Raises NoNativeCodeError where stacks are not known for the processor and there are calls.
    """
    if not has_calls:
        return _CALLERS_STACK.format(saved=SAVED_STACK, bytes=JUMP_BUFFER_BYTES)
    mapping = _OWN_STACK.format(
        stack=STACK_BYTES,
        reserve=STACK_RESERVE,
        top=STACK_TOP,
        limit=STACK_LIMIT,
        flags=_LINUX_FLAGS if "linux" in triple else _DARWIN_FLAGS,
    )
    return _switch_text(triple) + mapping


def _switch_text(triple: str) -> str:
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


_OWN_STACK = """\
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)

define i1 @relay_tune_map_stack(ptr %session) nounwind {{
entry:
  %stack = call ptr @mmap(ptr null, i64 {stack}, i32 3, i32 {flags}, i32 -1, i64 0)
  %failed = icmp eq ptr %stack, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %none, label %fill
fill:
  %top = getelementptr i8, ptr %stack, i64 {stack}
  %top_at = getelementptr i8, ptr %session, i64 {top}
  store ptr %top, ptr %top_at, align 8
  %limit = getelementptr i8, ptr %stack, i64 {reserve}
  %limit_at = getelementptr i8, ptr %session, i64 {limit}
  store ptr %limit, ptr %limit_at, align 8
  ret i1 true
none:
  ret i1 false
}}

define void @relay_tune_unmap_stack(ptr %session) nounwind {{
entry:
  %top_at = getelementptr i8, ptr %session, i64 {top}
  %top = load ptr, ptr %top_at, align 8
  %stack = getelementptr i8, ptr %top, i64 -{stack}
  %unmapped = call i32 @munmap(ptr %stack, i64 {stack})
  ret void
}}
"""

_CALLERS_STACK = """\
declare i32 @_setjmp(ptr) returns_twice nounwind
declare void @longjmp(ptr, i32) noreturn nounwind

define internal void @relay_tune_enter(ptr %session, ptr %function) noinline nounwind {{
entry:
  %buffer = alloca [{bytes} x i8], align 16
  %saved_at = getelementptr i8, ptr %session, i64 {saved}
  store ptr %buffer, ptr %saved_at, align 8
  %aborted = call i32 @_setjmp(ptr %buffer) returns_twice
  %first = icmp eq i32 %aborted, 0
  br i1 %first, label %run, label %end
run:
  call void %function(ptr %session)
  br label %end
end:
  ret void
}}

define internal void @relay_tune_abort(ptr %session) noinline noreturn nounwind {{
entry:
  %saved_at = getelementptr i8, ptr %session, i64 {saved}
  %buffer = load ptr, ptr %saved_at, align 8
  call void @longjmp(ptr %buffer, i32 1)
  unreachable
}}

define i1 @relay_tune_map_stack(ptr %session) nounwind {{
  ret i1 true
}}

define void @relay_tune_unmap_stack(ptr %session) nounwind {{
  ret void
}}
"""
