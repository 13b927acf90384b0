"""IR text to machine code, and machine code into this process.

Kernels are written with explicit vectors and registers, so no IR pass runs, and code generation
stays at level 1: measured, this gives the speed of -O3 at a quarter of the time.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import llvmlite.binding as llvm

from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.llvm_modules import parsed_module, run_passes
from relay_tune.codegen.target import Target, initialize_llvm
from relay_tune.errors import BuildError
from relay_tune.tensor.loops import Kernel

_library_numbers = itertools.count()


def module_text(kernels: Sequence[Kernel], target: Target) -> str:
    """The LLVM module of some kernels.

    Raises BuildError if they use an intrinsic that the target does not have.
    """
    functions = [
        write_kernel(kernel, target.scales_powers, target.rounds_bfloats, target.intrinsics)
        for kernel in kernels
    ]
    declarations = sorted({line for function in functions for line in function.declarations})
    head = f'target triple = "{target.triple}"'
    return "\n".join([head, *declarations, *(function.text for function in functions)])


@cache
def _target_machine(target: Target, position_independent: bool) -> llvm.TargetMachine:
    initialize_llvm()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=1,
        reloc="pic" if position_independent else "default",
        codemodel="small" if position_independent else "jitdefault",
    )


def compile_text(text: str, target: Target) -> bytes:
    """The object file of an LLVM module; raises BuildError if LLVM rejects it."""
    machine = _target_machine(target, True)
    try:
        with parsed_module(text) as module:
            return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise _rejected(error) from error


def compile_optimized(text: str, target: Target) -> bytes:
    """The object file of an LLVM module that is no kernel: LLVM's own passes run over it."""
    llvm.initialize_native_asmparser()  # stacks are switched in assembly
    machine = _target_machine(target, True)
    try:
        with parsed_module(text) as module:
            run_passes(module, machine, 2)
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


class LoadedCode:
    """Machine code in this process; the functions live as long as this object.

    Raises BuildError if the objects need symbols that nobody has.

    `symbols` can be asked for later; `imports` are addresses of what the objects leave undefined
    (beside the symbols of this process).
    """

    def __init__(
        self,
        objects: Iterable[bytes],
        symbols: Sequence[str],
        imports: Mapping[str, int] | None = None,
    ) -> None:
        initialize_llvm()
        # The older linker may put code and its constants more than 2 GB apart, and aborts then: it
        # was seen to in a process that had loaded several large libraries.
        self._jit = llvm.create_lljit_compiler(use_jit_link=True)
        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in objects:
            builder = builder.add_object_img(image)
        for name, address in (imports or {}).items():
            builder = builder.import_symbol(name, address)
        for symbol in symbols:
            builder = builder.export_symbol(symbol)
        try:
            self._tracker = builder.link(self._jit, f"library{next(_library_numbers)}")
        except RuntimeError as error:
            raise BuildError(
                "Generated code does not link in this process.",
                notes=(str(error).strip()[:500],),
                remedy="Choose a target that has the instructions for these element types.",
            ) from error
        self._symbols = frozenset(symbols)

    def address(self, symbol: str) -> int:
        """The address of an exported symbol."""
        return int(self._tracker[symbol])

    def function(self, symbol: str, *argument_types: type) -> Callable[..., None]:
        """A symbol as a C function without a result."""
        return ctypes.CFUNCTYPE(None, *argument_types)(self.address(symbol))
