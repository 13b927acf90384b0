"""The functions of a native program as ctypes sees them, and a session that calls them."""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.constants import CONSTANTS_SYMBOL
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.programs.build_values import BUILD
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.program_text import ENTRY_SYMBOL
from relay_tune.codegen.programs.read_values import READ_SYMBOLS
from relay_tune.codegen.programs.session import (
    FAILED_INDEX,
    FAILED_SIZE,
    FIRST_MESSAGE,
    NO_ERROR,
    NO_MEMORY,
    NO_MEMORY_MESSAGE,
    STORES,
    THREADS,
    TOO_DEEP,
    TOO_DEEP_MESSAGE,
)
from relay_tune.codegen.programs.session_functions import SESSION_SYMBOLS
from relay_tune.codegen.repeat_function import CALLS_SYMBOL, calls_text
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError, RelayError
from relay_tune.op.index_check import index_error
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.processor_check import check_features
from relay_tune.runtime.threads import thread_pool

Pointers = ctypes.Array[ctypes.c_void_p]

FIRST_ROOM = 256
"""How many objects can be read before there must be more room."""


@dataclass(frozen=True, eq=False, slots=True)
class ValueFunctions:
    """The functions that make and read values of data types, and references."""

    build: Callable[[int, int, int, int, int], int]
    read: Callable[[int, int, int, int, int, int], int]
    gather: Callable[[int, int, int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class SessionFunctions:
    """The functions of `relay_tune.codegen.programs.session_functions`, and the entry point.

    `owner` keeps their machine code in memory; `messages` are the program's own errors. `values` is
    None where only tensors are passed.
    """

    open: Callable[[int], int | None]
    close: Callable[[int], None]
    reset: Callable[[int], None]
    values: ValueFunctions | None
    release: Callable[[int, int], None]
    hand_over: Callable[[int], int | None]
    call: Callable[[int, Pointers, Pointers], int]
    messages: tuple[str, ...]
    owner: object


@dataclass(frozen=True, eq=False, slots=True)
class TracedKernels:
    """Kernels that note when they run.

    Attributes:
        images: the object files of functions that take the place of kernels and of regions.
        imports: the addresses of the kernels that these call.
        code: keeps the kernels in memory.
    """

    images: tuple[bytes, ...]
    imports: dict[str, int]
    code: LoadedCode


def load_functions(
    program: CompiledFunctions, traced: TracedKernels | None = None
) -> SessionFunctions:
    """The functions of a program, in this process; InputError if it is for another machine.

    With `traced`, its kernels are those.
    """
    check_features(program.target.triple, program.features, str(program.target))
    has_values = program.program.has_values
    values = (BUILD.name, *READ_SYMBOLS) if has_values else ()
    symbols = (*SESSION_SYMBOLS, *values, ENTRY_SYMBOL)
    constants = program.constants.array()
    imports = {
        **thread_pool().imports,
        **({} if traced is None else traced.imports),
        CONSTANTS_SYMBOL: constants.ctypes.data,
    }
    objects = program.objects
    if traced is not None:
        objects = (*traced.images, *objects[program.kernel_objects + 1 :])
    code = LoadedCode(objects, symbols, imports)

    def find(name: str, result: Any, *types: Any) -> Callable[..., Any]:
        symbol = ENTRY_SYMBOL if name == "main" else f"relay_tune_{name}"
        return ctypes.CFUNCTYPE(result, *types)(code.address(symbol))

    return session_functions(find, program.messages, has_values, (code, constants, traced))


def library_functions(
    library: ctypes.CDLL, name: str, messages: tuple[str, ...], has_values: bool
) -> SessionFunctions:
    """The functions of a library that `export` wrote."""

    def find(function: str, result: Any, *types: Any) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, *types)((f"{name}_{function}", library))

    return session_functions(find, messages, has_values, library)


def session_functions(
    find: Callable[..., Callable[..., Any]],
    messages: tuple[str, ...],
    has_values: bool,
    owner: object,
) -> SessionFunctions:
    """The functions that `find(name, result type, *argument types)` gives."""
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    values = None
    if has_values:
        values = ValueFunctions(
            build=find("build", number, pointer, pointer, number, pointer, pointer),
            read=find("read", number, pointer, number, pointer, number, pointer, number),
            gather=find("gather", None, pointer, number, number, pointer),
        )
    return SessionFunctions(
        open=find("open", pointer, number),
        close=find("close", None, pointer),
        reset=find("reset", None, pointer),
        values=values,
        release=find("release", None, pointer, pointer),
        hand_over=find("hand_over", pointer, pointer),
        call=find("main", ctypes.c_int32, pointer, pointer, pointer),
        messages=messages,
        owner=owner,
    )


@dataclass(frozen=True, eq=False, slots=True)
class ObjectDescription:
    """Results of `read`; see `relay_tune.codegen.programs.read_values`.

    Attributes:
        roots: a word for each object that was asked for.
        layouts: the layout number of each object, int64.
        fields: the fields of each object, int64 [objects, fields].
    """

    roots: Sequence[int]
    layouts: np.ndarray
    fields: np.ndarray


@cache
def _repeating() -> Callable[..., int]:
    """The native function that repeats calls."""
    target = native_target()
    code = LoadedCode([compile_text(calls_text(target.triple), target)], [CALLS_SYMBOL])
    pointers = [ctypes.c_void_p] * 4
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *pointers, ctypes.c_int64)(
        code.address(CALLS_SYMBOL)
    )
    function.code = code  # type: ignore[attr-defined]  # it must live as long
    return function


def _close(functions: SessionFunctions, session: int) -> None:
    functions.close(session)


class NativeSession:
    """A heap and a stack; one call at a time.

    Attributes:
        functions: the functions of the program.
        address: of the session.
    """

    def __init__(self, functions: SessionFunctions) -> None:
        self.functions = functions
        session = functions.open(1)
        if session is None:
            raise MemoryError("There is no memory for the stack of the program.")
        self.address = session
        self._threads = ctypes.c_int64.from_address(session + THREADS)
        # Code and session may be garbage of one cycle; this keeps the code until it has run.
        weakref.finalize(self, _close, functions, session).atexit = False
        self._layouts = np.empty(FIRST_ROOM, np.int64)
        self._rows = np.empty((0, 0), np.int64)

    def call(
        self,
        inputs: Pointers,
        outputs: Pointers,
        threads: int,
        stores: ctypes.Array[ctypes.c_int64] | None = None,
    ) -> None:
        """Run the program on so many threads; RelayError if it fails: all objects are gone.

        `stores` has three words for each component of the result: memory for it, how many rows it
        has room for, and where to put its sizes, or 0.
        """
        self._threads.value = threads
        word = ctypes.c_uint64.from_address(self.address + STORES)
        word.value = 0 if stores is None else ctypes.addressof(stores)
        status = self.functions.call(self.address, inputs, outputs)
        word.value = 0
        if status != NO_ERROR:
            raise self.error(status)

    def repeat(self, inputs: Pointers, outputs: Pointers, runs: int) -> int:
        """The nanoseconds of so many runs that follow each other without Python between them."""
        call: Any = self.functions.call  # ctypes made it
        address = ctypes.cast(call, ctypes.c_void_p)
        return int(_repeating()(address, self.address, inputs, outputs, runs))

    def error(self, status: int) -> Exception:
        """Turn the status of a run that failed into an error."""
        if status == NO_MEMORY:
            return MemoryError(NO_MEMORY_MESSAGE)
        if status == TOO_DEEP:
            return RelayError(
                TOO_DEEP_MESSAGE,
                remedy="Check that the recursion ends, or make the recursive call the last step.",
            )
        message = self.functions.messages[status - FIRST_MESSAGE]
        index, size = (
            ctypes.c_int64.from_address(self.address + offset).value
            for offset in (FAILED_INDEX, FAILED_SIZE)
        )
        return InputError(message) if size < 0 else index_error(message, index, size)

    def build(self, codes: int, count: int, leaves: int, stack: int) -> int:
        """The address of the value that so many codes describe; MemoryError if there is no room.

        The other arguments are addresses (`relay_tune.codegen.programs.build_values`); `stack` has
        room for a word for each code and one more.
        """
        if not self._values.build(self.address, codes, count, leaves, stack):
            raise MemoryError("There is no memory for an input of the program.")
        return ctypes.c_uint64.from_address(stack).value

    def read(self, objects: Sequence[int], width: int) -> ObjectDescription:
        """Describe objects that have up to `width` fields; valid until the next call."""
        while True:
            roots = array("q", objects)
            layouts, rows = self._layouts, self._rows
            if rows.shape != (layouts.size, width):
                rows = self._rows = np.empty((layouts.size, width), np.int64)
            address, count = roots.buffer_info()
            positions = address_of(layouts), layouts.size, address_of(rows), width
            found = self._values.read(address, count, *positions)
            if found >= 0:
                return ObjectDescription(roots, layouts[:found], rows[:found])
            self._layouts = np.empty(2 * layouts.size + count, np.int64)

    def gather(self, tensors: Sequence[int], elements: np.ndarray) -> None:
        """Copy the elements of tensors to the rows of an array."""
        if tensors:
            addresses = array("Q", tensors)
            size = elements.nbytes // len(tensors)
            self._values.gather(*addresses.buffer_info(), size, address_of(elements))

    @property
    def _values(self) -> ValueFunctions:
        values = self.functions.values
        assert values is not None  # the types of inputs and outputs have values
        return values

    def release(self, objects: Sequence[int]) -> None:
        """Give up references."""
        for address in objects:
            self.functions.release(self.address, address)

    def reset(self) -> None:
        """Free all objects."""
        self.functions.reset(self.address)
