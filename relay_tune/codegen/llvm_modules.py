"""LLVM modules that leave nothing behind in a process that builds many."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import cache

import llvmlite.binding as llvm


@cache
def initialize_llvm() -> None:
    """Make LLVM's code generators known; done once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@contextmanager
def parsed_module(text: str) -> Iterator[llvm.ModuleRef]:
    """The module of an LLVM text, in a context of its own; both are gone at the end.

    LLVM's global context keeps the types and constants of every module. Raises RuntimeError where
    LLVM rejects the text.
    """
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        yield module


@contextmanager
def without_strength_reduction() -> Iterator[None]:
    """Keep LLVM from looking for other induction variables meanwhile.

    That is a switch of the process. So that only code of ours is without it, others that call LLVM
    through this binding wait until the end; where its lock is not known, nothing is switched.
    """
    lock = getattr(llvm.ffi.lib, "_lock", None)
    if lock is None:
        yield
        return
    with lock:
        llvm.set_option("relay_tune", "-disable-lsr=true")
        try:
            yield
        finally:
            llvm.set_option("relay_tune", "-disable-lsr=false")


def run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, speed_level: int) -> None:
    """Run the passes of an optimisation level (0 to 3) over a module, in place."""
    _run(module, machine, speed_level, lambda builder: builder.getModulePassManager())


def inline_parts(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, apart: Container[str]
) -> None:
    """Put internal functions into those that call them, in place; what nobody calls is dropped.

    before:  define internal i64 @part(i64 %x) { .. }    define i64 @whole(i64 %x) { call @part .. }
    after:   define i64 @whole(i64 %x) { .. }

    Functions whose names are `apart`, or that are `noinline`, stay. Afterwards blocks that follow
    each other are one.
    """
    for function in module.functions:
        is_part = function.linkage == llvm.Linkage.internal and not function.is_declaration
        if is_part and function.name not in apart and not _is_noinline(function):
            function.add_function_attribute("alwaysinline")
    _run(module, machine, 0, _inlining)


def _is_noinline(function: llvm.ValueRef) -> bool:
    return any(b"noinline" in each for each in function.attributes)


def _inlining(_: llvm.PassBuilder) -> llvm.ModulePassManager:
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()  # of what is included many parts serve others
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_simplify_cfg_pass()
    return passes


def _run(
    module: llvm.ModuleRef,
    machine: llvm.TargetMachine,
    speed_level: int,
    make: Callable[[llvm.PassBuilder], llvm.ModulePassManager],
) -> None:
    """Run the passes that `make` gives over a module, in place."""
    options = llvm.create_pipeline_tuning_options(speed_level=speed_level)
    with options, llvm.create_pass_builder(machine, options) as builder:
        passes = make(builder)
        try:
            passes.run(module, builder)
        finally:
            # The binding's own `close` reaches no function that frees it.
            llvm.ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
            passes.detach()
