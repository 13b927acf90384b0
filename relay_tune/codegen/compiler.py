"""IR text to machine code.

Kernels are written with explicit vectors and registers, so no IR pass runs, and code generation
stays at level 1: measured, this gives the speed of -O3 at a quarter of the time. Whether it reduces
strength, and at which level what calls kernels is compiled, the record of the architecture says.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import llvmlite.binding as llvm

from relay_tune.codegen.llvm_modules import (
    initialize_llvm,
    inline_parts,
    parsed_module,
    run_passes,
    without_strength_reduction,
)
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError
from relay_tune.targets.registry import architecture_of


@cache
def _target_machine(target: Target, level: int) -> llvm.TargetMachine:
    initialize_llvm()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="small"
    )


def compile_text(text: str, target: Target) -> bytes:
    """The object file of an LLVM module; raises BuildError if LLVM rejects it."""
    is_usual = architecture_of(target.triple).reduces_strength
    around = nullcontext if is_usual else without_strength_reduction
    return _compiled(text, target, _as_written, around=around)


def compile_optimized(text: str, target: Target) -> bytes:
    """The object file of an LLVM module that is no kernel: LLVM's own passes run over it.

    Those of level 1: programs run as fast as after level 2, which takes half as long again.
    """
    llvm.initialize_native_asmparser()  # stacks are switched in assembly
    return _compiled(text, target, lambda module, machine: run_passes(module, machine, 1))


def compile_calls(text: str, target: Target) -> bytes:
    """The object file of an LLVM module that does little but call kernels."""
    return _compiled(text, target, _as_written, _level_of_calls(target))


def compile_inlined(text: str, target: Target, apart: Container[str]) -> bytes:
    """The same of one whose internal functions become parts of their callers.

    That is what LLVM's own passes come to where there are few calls, in a third of their time or
    less. Functions that are `apart` stay by themselves: each caller would have a copy.
    """
    level = _level_of_calls(target)
    return _compiled(text, target, lambda module, own: inline_parts(module, own, apart), level)


def _level_of_calls(target: Target) -> int:
    return architecture_of(target.triple).level_of_calls


def _as_written(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """No pass."""


def _compiled(
    text: str,
    target: Target,
    prepare: Callable[[llvm.ModuleRef, llvm.TargetMachine], None],
    level: int = 1,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> bytes:
    machine = _target_machine(target, level)
    try:
        with parsed_module(text) as module:
            prepare(module, machine)
            with around():
                return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise _rejected(error) from error


def _rejected(error: RuntimeError) -> BuildError:
    return BuildError(
        "LLVM rejected generated code; this is a defect of the compiler.",
        notes=(str(error).strip()[:2000],),
        remedy=(
            "Please report it with the model; --accuracy exact or another --target may avoid it."
        ),
    )
