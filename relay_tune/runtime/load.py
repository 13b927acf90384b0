"""`load`: an exported library as a callable model; no compiler is needed."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from relay_tune.arguments import path_argument
from relay_tune.codegen.export import METADATA_FORMAT
from relay_tune.codegen.library_text import INDEX_OUT_OF_RANGE, NO_MEMORY, SUCCESS
from relay_tune.codegen.programs.library import PROGRAM_KIND
from relay_tune.errors import InputError, RelayError
from relay_tune.first_order.lower_program import described_program
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import FuncType, TensorType, TupleType
from relay_tune.op.index_check import index_error
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.direct.call import direct_call
from relay_tune.runtime.direct.callee import library_callee
from relay_tune.runtime.library_file import checked_library
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import library_functions
from relay_tune.runtime.network_executable import NetworkExecutable
from relay_tune.runtime.open_library import open_library
from relay_tune.runtime.processor_check import check_features


@dataclass(frozen=True, slots=True)
class LibraryMetadata:
    """What an exported library says of itself."""

    name: str
    triple: str
    target: str
    features: tuple[str, ...]
    threads: int
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    program: FirstOrderProgram | None = None
    messages: tuple[str, ...] = ()


def load(path: str | Path) -> LoadedModel | LoadedProgram:
    """The model in a library that `export` wrote.

    Raises InputError if the file is no such library, is not whole, or is made for another machine.
    """
    file = path_argument(path, "The library", "Name a file that export wrote.").resolve()
    if file.exists() and not file.is_file():
        raise InputError(
            f"{path} is no library: it is no regular file.",
            remedy="Give the file that export wrote.",
        )
    try:
        with file.open("rb") as stream:
            contents = checked_library(file, stream)
            metadata = _metadata(contents.description, path)
            check_features(metadata.triple, metadata.features, metadata.target)
            library = open_library(file, stream, contents, metadata.name)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check the path, and that the file may be read.",
        ) from error
    if metadata.program is not None:
        functions = library_functions(library, metadata.name, metadata.messages)
        return LoadedProgram(metadata.program, functions, metadata.threads)
    return LoadedModel(library, metadata)


class LoadedModel(NetworkExecutable):
    """A model in a shared library: `y = load("model.so")(x)`."""

    def __init__(self, library: ctypes.CDLL, metadata: LibraryMetadata) -> None:
        super().__init__(metadata.inputs, metadata.outputs, metadata.threads)
        self._run = library[f"{metadata.name}_run"]
        self._run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        self._run.restype = ctypes.c_int
        self._message = library[f"{metadata.name}_message"]
        self._message.restype = ctypes.c_char_p
        self._failed = [library[f"{metadata.name}_failed_{word}"] for word in ("index", "size")]
        for function in self._failed:
            function.restype = ctypes.c_int64
        self._input_table = ctypes.c_void_p * len(metadata.inputs)
        self._output_table = ctypes.c_void_p * len(metadata.outputs)
        self._output_types = [
            (tuple(int(str(dim)) for dim in type_.shape), DTYPES[type_.dtype])
            for type_ in metadata.outputs.values()
        ]
        inputs, outputs = metadata.inputs, metadata.outputs
        self._direct = direct_call(
            inputs,
            TupleType(tuple(outputs.values())),
            lambda: library_callee(self._run, len(inputs), len(outputs), self._error),
            Lock(),
        )

    def _execute(self, inputs: list[np.ndarray], threads: int) -> list[np.ndarray]:
        outputs = [np.empty(shape, dtype) for shape, dtype in self._output_types]
        self._execute_into(inputs, threads, outputs)
        return outputs

    def _execute_into(
        self, inputs: list[np.ndarray], threads: int, outputs: list[np.ndarray]
    ) -> None:
        status = self._run(
            self._input_table(*map(address_of, inputs)),
            self._output_table(*map(address_of, outputs)),
            threads,
        )
        if status != SUCCESS:
            raise self._error(status)

    def _error(self, status: int) -> Exception:
        """What the status of a run that failed means."""
        message = bytes(self._message(status) or b"").decode()
        if status == NO_MEMORY:
            return MemoryError(message)
        if status >= INDEX_OUT_OF_RANGE:
            index, size = (int(function()) for function in self._failed)
            return index_error(message, index, size)
        return InputError(
            message, remedy="Build it again with --target for this machine, or native on it."
        )


def _metadata(description: bytes, path: str | Path) -> LibraryMetadata:
    try:
        data = json.loads(description)
        if data["format"] != METADATA_FORMAT:
            raise ValueError(f"format {data['format']}")
        if not str(data["name"]).isidentifier():
            raise ValueError(f"the name {data['name']!r}")
        is_program = data.get("kind") == PROGRAM_KIND
        return LibraryMetadata(
            name=str(data["name"]),
            triple=str(data["triple"]),
            target=str(data["target"]),
            features=tuple(map(str, data["features"])),
            threads=int(data["threads"]),
            inputs={} if is_program else _types(data["inputs"]),
            outputs={} if is_program else _types(data["outputs"]),
            program=_program(data) if is_program else None,
            messages=tuple(map(str, data["messages"])) if is_program else (),
        )
    except (ValueError, KeyError, TypeError, RecursionError, RelayError) as error:
        raise InputError(
            f"{path} describes itself in a way that this version does not know: {error}.",
            remedy="Export the model again with this version.",
        ) from error


def _program(data: Mapping[str, Any]) -> FirstOrderProgram:
    """What is known of a program from outside: its types, and how its values lie in memory."""
    module = parse(str(data["interface"]))
    (parameter,) = module.main.params
    type_ = parameter.annotation
    if not isinstance(type_, FuncType):
        raise ValueError("the interface is no function")
    described = described_program(module, type_, [str(n) for n in data["inputs"]])
    return replace(described, has_cells=bool(data["has_cells"]), is_open=bool(data["is_open"]))


def _types(described: list[dict[str, object]]) -> dict[str, TensorType]:
    types: dict[str, TensorType] = {}
    for item in described:
        shape, dtype = item["shape"], str(item["dtype"])
        if not isinstance(shape, list) or dtype not in DTYPES:
            raise ValueError(f"a tensor of shape {shape} and type {dtype}")
        types[str(item["name"])] = TensorType(tuple(map(int, shape)), dtype)
    return types
