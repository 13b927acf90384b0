"""Writing a compiled program as a shared library with a C header."""

from __future__ import annotations

from pathlib import Path

from relay_tune.codegen.export import LibraryTexts, c_name, metadata_text, publish
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.library_functions import program_library_text, session_aliases
from relay_tune.codegen.programs.library_header import program_header
from relay_tune.ir.expr import Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import FuncType

PROGRAM_KIND = "program"
INTERFACE_PARAMETER = "main"


def export_program(program: CompiledFunctions, path: Path) -> None:
    """Write `path` and, beside it, the header with the suffix `.h`.

    Functions are named after the file: `resnet18.so` has `resnet18_run`. Raises InputError where
    the files cannot be written, BuildError for a target without such libraries. Nothing is left
    half-written.
    """
    name = c_name(path.stem)
    metadata = metadata_text(program, name, kind=PROGRAM_KIND, **_described(program))
    texts = LibraryTexts(
        program_library_text(program, name),
        program_header(program, name),
        metadata,
        session_aliases(name, program.program.has_values),
    )
    publish(path, name, program, texts)


def _described(program: CompiledFunctions) -> dict[str, object]:
    entry = program.program.entry
    return {
        "inputs": list(entry.inputs),
        "appended": [[each.output, each.input, each.axis] for each in entry.appended],
        "in_place": [[each.output, each.input] for each in entry.in_place],
        "interface": _interface_text(program),
        "has_cells": program.program.has_cells,
        "is_open": program.program.is_open,
        "messages": program.messages,
    }


def _interface_text(program: CompiledFunctions) -> str:
    """The data types, and a function whose parameter has the program's type, as Relay text."""
    entry = program.program.entry
    type_ = FuncType(tuple(entry.inputs.values()), entry.output)
    function = Function((Var(INTERFACE_PARAMETER, type_),), Tuple(()))
    attributes = {"outputs": tuple(entry.outputs)}
    return Module({"main": function}, types=program.program.types, attributes=attributes).astext()
