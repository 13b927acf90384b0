"""Machine code in this process."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import llvmlite.binding as llvm

from relay_tune.codegen.llvm_modules import initialize_llvm
from relay_tune.errors import BuildError

_library_numbers = itertools.count()


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
