"""`load`: an exported library as a callable model; no compiler is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from relay_tune.arguments import path_argument
from relay_tune.codegen.export import METADATA_FORMAT
from relay_tune.errors import InputError, RelayError
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import FuncType
from relay_tune.program.lower_program import described_program
from relay_tune.program.program import AppendedOutput, FirstOrderProgram, InPlaceOutput
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.library_file import checked_library
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import library_functions
from relay_tune.runtime.open_library import open_library
from relay_tune.runtime.processor_check import check_features


@dataclass(frozen=True, slots=True)
class LibraryMetadata:
    """The description that an exported library carries."""

    name: str
    triple: str
    target: str
    features: tuple[str, ...]
    threads: int
    program: FirstOrderProgram
    messages: tuple[str, ...]


def load(path: str | Path) -> LoadedProgram:
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
    program = metadata.program
    functions = library_functions(library, metadata.name, metadata.messages, program.has_values)
    return LoadedProgram(program, functions, metadata.threads)


def _metadata(description: bytes, path: str | Path) -> LibraryMetadata:
    try:
        data = json.loads(description)
        if data["format"] != METADATA_FORMAT:
            raise ValueError(f"format {data['format']}")
        if not str(data["name"]).isidentifier():
            raise ValueError(f"the name {data['name']!r}")
        return LibraryMetadata(
            name=str(data["name"]),
            triple=str(data["triple"]),
            target=str(data["target"]),
            features=tuple(map(str, data["features"])),
            threads=int(data["threads"]),
            program=_program(data),
            messages=tuple(map(str, data["messages"])),
        )
    except (ValueError, KeyError, TypeError, RecursionError, RelayError) as error:
        raise InputError(
            f"{path} describes itself in a way that this version does not know: {error}.",
            remedy="Export the model again with this version.",
        ) from error


def _program(data: Mapping[str, Any]) -> FirstOrderProgram:
    """Read a program's interface: its types, and how its values lie in memory."""
    module = parse(str(data["interface"]))
    (parameter,) = module.main.params
    type_ = parameter.annotation
    if not isinstance(type_, FuncType):
        raise ValueError("the interface is no function")
    described = described_program(module, type_, [str(n) for n in data["inputs"]])
    appended = tuple(AppendedOutput(*map(int, each)) for each in data["appended"])
    in_place = tuple(InPlaceOutput(*map(int, each)) for each in data["in_place"])
    entry = replace(described.entry, appended=appended, in_place=in_place)
    return replace(
        described,
        entry=entry,
        has_cells=bool(data["has_cells"]),
        is_open=bool(data["is_open"]),
    )
