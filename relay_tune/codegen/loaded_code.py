"""Machine code in this process."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import llvmlite.binding as llvm

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.compiler_runtime import compiler_runtime_text, mentioned_functions
from relay_tune.codegen.llvm_modules import initialize_llvm
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError
from relay_tune.remembered import remembered

LIBRARIES_OF_A_LINKER = 64
"""A linker of LLVM takes 1.2 ms to make, and keeps 9 kB of each library for as long as it is used.
It is gone once the last of its libraries is."""

_library_numbers = itertools.count()


@lru_cache(maxsize=1)
def _linker(number: int) -> llvm.LLJIT:
    """The linker of that number; the one before takes no more libraries.

    The older kind may put code and its constants more than 2 GB apart, and aborts then: it was seen
    to in a process that had loaded several large libraries.
    """
    return llvm.create_lljit_compiler(use_jit_link=True)


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
        number = next(_library_numbers)
        self._linker = _linker(number // LIBRARIES_OF_A_LINKER)
        builder = llvm.JITLibraryBuilder().add_current_process()
        images = list(objects)
        for image in (*images, *_compiler_runtime(images)):
            builder = builder.add_object_img(image)
        for name, address in (imports or {}).items():
            builder = builder.import_symbol(name, address)
        for symbol in symbols:
            builder = builder.export_symbol(symbol)
        try:
            self._tracker = builder.link(self._linker, f"library{number}")
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


def _compiler_runtime(images: Sequence[bytes]) -> list[bytes]:
    """An object with the functions that LLVM calls and this process lacks, if there are any.

    Libraries that were loaded for something else, such as libgcc, may have them.
    """
    mentioned = mentioned_functions(images)
    missing = frozenset(name for name in mentioned if llvm.address_of_symbol(name) is None)
    return [_runtime_object(missing)] if missing else []


@remembered(16, lasts=True)
def _runtime_object(names: frozenset[str]) -> bytes:
    target = native_target()
    return compile_text(compiler_runtime_text(target.triple, names, is_weak=True), target)
