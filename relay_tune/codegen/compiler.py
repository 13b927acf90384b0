"""IR text to machine code.

Kernels are written with explicit vectors and registers, so no IR pass runs, and code generation
stays at level 1: measured, this gives the speed of -O3 at a quarter of the time. Whether it reduces
strength, and at which level what calls kernels is compiled, the record of the architecture says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
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
from relay_tune.quick_dataclass import dataclass
from relay_tune.targets.registry import architecture_of


@cache
def _target_machine(target: Target, level: int) -> llvm.TargetMachine:
    initialize_llvm()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="small"
    )


def compile_text(text: str, target: Target) -> bytes:
    """The object file of an LLVM module; raises BuildError if LLVM rejects it."""
    reduces = architecture_of(target.triple).reduces_strength
    return _compiled(text, target, _AsWritten(), reduces_strength=reduces)


def compile_optimized(text: str, target: Target) -> bytes:
    """The object file of an LLVM module that is no kernel: LLVM's own passes run over it.

    Those of level 1: programs run as fast as after level 2, which takes half as long again.
    """
    llvm.initialize_native_asmparser()  # stacks are switched in assembly
    return _compiled(text, target, _Optimized(1))


def compile_calls(text: str, target: Target) -> bytes:
    """The object file of an LLVM module that does little but call kernels."""
    return _compiled(text, target, _AsWritten(), _level_of_calls(target))


def compile_inlined(text: str, target: Target, apart: Iterable[str]) -> bytes:
    """The same of one whose internal functions become parts of their callers.

    That is what LLVM's own passes come to where there are few calls, in a third of their time or
    less. Functions that are `apart` stay by themselves: each caller would have a copy.
    """
    return _compiled(text, target, _Inlined(tuple(apart)), _level_of_calls(target))


def _level_of_calls(target: Target) -> int:
    return architecture_of(target.triple).level_of_calls


Preparation = Callable[[llvm.ModuleRef, llvm.TargetMachine], None]
"""What changes a module before its code is generated."""


@dataclass(frozen=True)
class _AsWritten:
    """No pass."""

    def __call__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
        """Leave the module as it is."""


@dataclass(frozen=True)
class _Optimized:
    speed_level: int

    def __call__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
        run_passes(module, machine, self.speed_level)


@dataclass(frozen=True)
class _Inlined:
    apart: tuple[str, ...]

    def __call__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
        inline_parts(module, machine, frozenset(self.apart))


def _compiled(
    text: str,
    target: Target,
    prepare: Preparation,
    level: int = 1,
    *,
    reduces_strength: bool = True,
) -> bytes:
    around = nullcontext if reduces_strength else without_strength_reduction
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
