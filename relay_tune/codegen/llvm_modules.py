"""LLVM modules that leave nothing behind in a process that builds many."""

from __future__ import annotations

from collections.abc import Iterator
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


def run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, speed_level: int) -> None:
    """Run the passes of an optimisation level (0 to 3) over a module, in place."""
    options = llvm.create_pipeline_tuning_options(speed_level=speed_level)
    with options, llvm.create_pass_builder(machine, options) as builder:
        passes = builder.getModulePassManager()
        try:
            passes.run(module, builder)
        finally:
            # The binding's own `close` reaches no function that frees it.
            llvm.ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
            passes.detach()
