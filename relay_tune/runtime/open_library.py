"""Opening a library of ours in this process, and closing it when nothing uses it any more.

The system's loader gets a copy of code and tables in memory, so that what was checked is what runs,
and that nothing happens to the process when the file is replaced or overwritten. The weights, which
may be large, are mapped from the file itself, whose pages processes share.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import weakref
from io import BufferedReader
from pathlib import Path

from relay_tune.errors import InputError
from relay_tune.runtime.library_file import LibraryFile

_MAP_FIXED = 0x10

_numbers = itertools.count()


def open_library(path: Path, file: BufferedReader, contents: LibraryFile, name: str) -> ctypes.CDLL:
    """The library at a path, open as `file`, whose functions begin with `name`.

    It is closed, its threads ended, when this object and all functions that were made from it are
    gone. Raises InputError.
    """
    try:
        library = _opened(contents, path.name)
        destroy = ctypes.cast(library[f"{name}_destroy"], ctypes.c_void_p).value or 0
        weakref.finalize(library, _close, library._handle, destroy).atexit = False
        _map_weights(file, contents, destroy)
    except (OSError, AttributeError) as error:  # the second where there is no such function
        raise InputError(
            f"{path} cannot be loaded: {error}.",
            remedy="Check that this process may map a file in memory (memfd_create) as code, and "
            "that the system has libm and libpthread.",
        ) from error
    return library


def _opened(contents: LibraryFile, name: str) -> ctypes.CDLL:
    """The library from a file in memory, with a hole where the weights belong."""
    handle = os.memfd_create(name[:200], os.MFD_CLOEXEC)
    try:
        with os.fdopen(handle, "wb", closefd=False) as copy:
            copy.write(contents.head)
        os.truncate(handle, contents.size)
        return ctypes.CDLL(_new_name(handle))
    finally:
        os.close(handle)


def _new_name(handle: int) -> str:
    """The name of an open file, spelled as never before in this process.

    The system's loader answers a name that it knows with the library that it has, and numbers of
    open files come again; `fd//3` and `fd/./3` are the same file.
    """
    digits = format(next(_numbers), "b")
    return f"/proc/self/fd/{''.join('./' if digit == '1' else '/' for digit in digits)}{handle}"


def _map_weights(file: BufferedReader, contents: LibraryFile, function: int) -> None:
    """Map the weights from the file to where they belong; `function` is one of the library."""
    size = contents.size - len(contents.head)
    if not size:
        return
    map_file = ctypes.CDLL(None, use_errno=True).mmap
    map_file.restype = ctypes.c_void_p
    number, whole = ctypes.c_int, ctypes.c_size_t
    map_file.argtypes = (ctypes.c_void_p, whole, number, number, number, ctypes.c_int64)
    wanted = _base(function) + contents.weights_address
    flags = mmap.MAP_PRIVATE | _MAP_FIXED
    found = map_file(wanted, size, mmap.PROT_READ, flags, file.fileno(), len(contents.head))
    if found != wanted:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class _DlInfo(ctypes.Structure):
    """The result of dladdr for an address (`Dl_info` of <dlfcn.h>)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _base(function: int) -> int:
    """Where the library of a function begins in memory."""
    info = _DlInfo()
    ask = ctypes.CDLL(None).dladdr
    ask.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    if not ask(function, ctypes.byref(info)):
        raise OSError("the loader of the system does not know its own library")
    return int(info.base or 0)


def _close(handle: int, destroy: int) -> None:
    """End the threads of a library and close it."""
    ctypes.CFUNCTYPE(None)(destroy)()
    close = ctypes.CDLL(None).dlclose
    close.argtypes = (ctypes.c_void_p,)
    close(handle)
