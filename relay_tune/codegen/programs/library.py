"""Writing a compiled program as a shared library with a C header."""

from __future__ import annotations

import json
from pathlib import Path

from relay_tune.codegen.export import METADATA_FORMAT, LibraryContents, c_name, publish
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library_header import program_header
from relay_tune.codegen.programs.library_text import program_library_text
from relay_tune.ir.expr import Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import FuncType

PROGRAM_KIND = "program"
INTERFACE_PARAMETER = "main"


def export_program(program: CompiledFunctions, path: Path) -> None:
    """Write `path` and, beside it, the header with the suffix `.h`; errors as `export_library`."""
    name = c_name(path.stem)
    contents = LibraryContents(
        target=program.target,
        objects=program.objects,
        interface=program_library_text(program, name),
        constants=program.constants,
        header=program_header(program, name),
        metadata=_metadata(program, name),
    )
    publish(path, name, contents)


def _metadata(program: CompiledFunctions, name: str) -> str:
    """What a loader has to know, as JSON."""
    entry = program.program.entries["main"]
    return json.dumps(
        {
            "format": METADATA_FORMAT,
            "kind": PROGRAM_KIND,
            "name": name,
            "triple": program.target.triple,
            "target": str(program.target),
            "features": program.features,
            "threads": program.threads,
            "inputs": list(entry.inputs),
            "interface": _interface_text(program),
            "has_cells": program.program.has_cells,
            "is_open": program.program.is_open,
            "messages": program.messages,
        }
    )


def _interface_text(program: CompiledFunctions) -> str:
    """The data types, and a function whose parameter has the program's type, as Relay text."""
    entry = program.program.entries["main"]
    type_ = FuncType(tuple(entry.inputs.values()), entry.output)
    function = Function((Var(INTERFACE_PARAMETER, type_),), Tuple(()))
    attributes = {"outputs": tuple(entry.outputs)}
    return Module({"main": function}, types=program.program.types, attributes=attributes).astext()
