"""Writing a compiled program as a shared library with a C header.

The library needs libc alone (with libm and threads). Its weights lie in read-only pages that
processes share.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm

from relay_tune.codegen.compiled_program import CompiledProgram
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.elf_data import write_elf_data
from relay_tune.codegen.library_header import library_header
from relay_tune.codegen.library_text import CONSTANTS_SYMBOL, METADATA_SYMBOL, library_text
from relay_tune.codegen.linker import link_library, linker_command
from relay_tune.codegen.native_runtime import runtime_text
from relay_tune.codegen.processor_features import architecture, required_features
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, InputError
from relay_tune.ir.types import TensorType

METADATA_FORMAT = 1


def export_library(program: CompiledProgram, path: Path) -> None:
    """Write `path` and, beside it, the header with the suffix `.h`.

    Functions are named after the file: `resnet18.so` has `resnet18_run`. Raises InputError where
    the files cannot be written, BuildError without a linker for the target. Nothing is left
    half-written.
    """
    header = path.with_suffix(".h")
    if path.suffix == ".h" or not path.name:
        raise InputError(f"{path} is no name for a library.", remedy="Write it as NAME.so.")
    if "linux" not in program.target.triple:
        raise BuildError(f"Libraries are written for Linux, not for {program.target.triple}.")
    linker_command(program.target.triple)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
            library = _write_library(program, c_name(path.stem), Path(folder))
            text = library_header(program, c_name(path.stem))
            (Path(folder) / "header.h").write_text(text)
            os.replace(Path(folder) / "header.h", header)
            os.replace(library, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def c_name(stem: str) -> str:
    """A file's stem as a C identifier."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", stem)
    return f"model_{name}" if not name or name[0].isdigit() else name


def metadata_text(program: CompiledProgram, name: str) -> str:
    """What a loader has to know, as JSON."""
    return json.dumps(
        {
            "format": METADATA_FORMAT,
            "name": name,
            "triple": program.target.triple,
            "target": str(program.target),
            "features": required_features(program.target),
            "threads": program.threads,
            "inputs": _described(program.inputs),
            "outputs": _described(program.outputs),
        }
    )


def _described(types: Mapping[str, TensorType]) -> list[dict[str, object]]:
    return [
        {"name": name, "dtype": type_.dtype, "shape": list(type_.shape)}
        for name, type_ in types.items()
    ]


def _write_library(program: CompiledProgram, name: str, folder: Path) -> Path:
    """Link the library in `folder`; its path."""
    target = program.target
    llvm.initialize_native_asmparser()  # the check of the processor is written in assembly
    interface = compile_text(
        library_text(program, name, metadata_text(program, name)), _plain(target)
    )
    runtime = compile_text(runtime_text(target.triple), _plain(target))
    images = [*program.objects, interface, runtime]
    files = [folder / f"code{number}.o" for number in range(len(images))]
    for file, image in zip(files, images, strict=True):
        file.write_bytes(image)
    weights = folder / "constants.o"
    write_elf_data(weights, CONSTANTS_SYMBOL, program.constants, architecture(target.triple))
    library = folder / "library.so"
    link_library([*files, weights], library, [f"{name}_*", METADATA_SYMBOL], target.triple)
    return library


def _plain(target: Target) -> Target:
    """The target's architecture without what only some of its processors have."""
    cpu = "x86-64" if architecture(target.triple) == "x86_64" else ""
    return Target(target.triple, cpu, "", 128, 16)
