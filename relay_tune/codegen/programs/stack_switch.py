"""The stack on which a program runs, and leaving the program from anywhere.

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

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import Signature, function
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

MAP_STACK = function("i1", "relay_tune_map_stack", "ptr")
UNMAP_STACK = function("void", "relay_tune_unmap_stack", "ptr")

ENTER = function("void", "relay_tune_enter", "ptr", "ptr", attributes="noinline nounwind")
_ABORT = function("void", "relay_tune_abort", "ptr", attributes="noinline noreturn nounwind")
MMAP = function("ptr", "mmap", "ptr", "i64", "i32", "i32", "i32", "i64")
MUNMAP = function("i32", "munmap", "ptr", "i64")
_SETJMP = function("i32", "_setjmp", "ptr", attributes="returns_twice nounwind")
_LONGJMP = function("void", "longjmp", "ptr", "i32", attributes="noreturn nounwind")

JUMP_BUFFER_BYTES = 1024
"""At least the size of `jmp_buf`: 200 bytes on x86-64, 312 on AArch64, with glibc."""

_LINUX_FLAGS = 0x02 | 0x20 | 0x4000 | 0x20000  # MAP_PRIVATE, ANONYMOUS, NORESERVE, STACK
_DARWIN_FLAGS = 0x0002 | 0x1000 | 0x0040  # MAP_PRIVATE, MAP_ANON, MAP_NORESERVE


def add_stack(module: NativeModule, triple: str, has_calls: bool) -> None:
    """The four functions, for a program with or without calls of its functions.

    Raises NoNativeCodeError where stacks are not known for the processor and there are calls.
    """
    if has_calls:
        module.add(_switch_text(triple))
        _add_own_stack(module, _LINUX_FLAGS if "linux" in triple else _DARWIN_FLAGS)
    else:
        add_callers_stack(module)


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


def _add_own_stack(module: NativeModule, flags: int) -> None:
    with module.define(MAP_STACK) as code:
        (session,) = code.parameters
        stack = code.call(MMAP, code.null, STACK_BYTES, 3, flags, -1, 0)
        code.ret_if(stack.to_int().eq(-1), False)
        session.at("ptr", STACK_TOP).store(stack.offset(STACK_BYTES))
        session.at("ptr", STACK_LIMIT).store(stack.offset(STACK_RESERVE))
        code.ret(True)
    with module.define(UNMAP_STACK) as code:
        top = code.parameters[0].at("ptr", STACK_TOP).load()
        code.call(MUNMAP, top.offset(-STACK_BYTES), STACK_BYTES)


def add_callers_stack(module: NativeModule) -> None:
    """The four functions of programs that run on their caller's stack."""
    with module.define(ENTER) as code:
        session, function_ = code.parameters
        buffer = code.stack_slot(JUMP_BUFFER_BYTES, 16)
        session.at("ptr", SAVED_STACK).store(buffer)
        with code.when(code.call(_SETJMP, buffer).eq(0)):
            code.call_through(function_, Signature("void", ("ptr",)), session)
    with module.define(_ABORT) as code:
        code.call(_LONGJMP, code.parameters[0].at("ptr", SAVED_STACK).load(), 1)
    with module.define(MAP_STACK) as code:
        code.ret(True)
    with module.define(UNMAP_STACK):
        pass
