"""Writing a compiled program as a shared library with a C header.

The library needs libc alone (with libm and threads). Its weights lie in read-only pages that
processes share.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from relay_tune.arguments import unwritable
from relay_tune.codegen.compiled_program import CompiledProgram
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.elf_data import write_elf_data
from relay_tune.codegen.library_header import library_header
from relay_tune.codegen.library_text import CONSTANTS_SYMBOL, METADATA_SYMBOL, library_text
from relay_tune.codegen.linker import link_library, linker_command
from relay_tune.codegen.native_runtime.runtime_text import runtime_text
from relay_tune.codegen.processor_features import architecture
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, InputError
from relay_tune.ir.types import TensorType

METADATA_FORMAT = 3

NAME_A_LIBRARY = "Name a file, such as model.so."
"""What to do where the path of a library is no path."""


def export_library(program: CompiledProgram, path: Path) -> None:
    """Write `path` and, beside it, the header with the suffix `.h`.

    Functions are named after the file: `resnet18.so` has `resnet18_run`. Raises InputError where
    the files cannot be written, BuildError without a linker for the target. Nothing is left
    half-written.
    """
    name = c_name(path.stem)
    publish(
        path,
        program.target.triple,
        library_header(program, name),
        lambda folder: link_images(
            folder,
            [*program.objects, plain_object(_interface(program, name), program.target)],
            program.constants,
            [f"{name}_*", METADATA_SYMBOL],
            program.target,
        ),
    )


def _interface(program: CompiledProgram, name: str) -> str:
    return library_text(program, name, metadata_text(program, name))


def publish(path: Path, triple: str, header_text: str, link: Callable[[Path], Path]) -> None:
    """Write a library, linked in a folder that `link` is given, and its header, or neither."""
    header = header_of(path)
    for file in (path, header):
        if file.exists() and not file.is_file():
            raise InputError(
                f"{file} cannot be written: it is no regular file.",
                remedy="Name a new file, or one that may be replaced.",
            )
    if "linux" not in triple:
        raise BuildError(
            f"Libraries are written for Linux, not for {triple}.",
            remedy=(
                "Choose a Linux target, such as x86_64-linux-gnu or aarch64-linux-gnu; in "
                "this process rt.build works without a library."
            ),
        )
    linker_command(triple)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
            library = link(Path(folder))
            (Path(folder) / "header.h").write_text(header_text)
            os.replace(Path(folder) / "header.h", header)
            os.replace(library, path)
    except OSError as error:
        raise unwritable(path, error) from error


def header_of(path: Path) -> Path:
    """The header beside a library; InputError where a library cannot be called so."""
    if path.suffix == ".h" or not path.name:
        raise InputError(f"{path} is no name for a library.", remedy=NAME_A_LIBRARY)
    return path.with_suffix(".h")


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
            "features": program.features,
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


def link_images(
    folder: Path,
    objects: Sequence[bytes],
    constants: np.ndarray,
    exported: Sequence[str],
    target: Target,
) -> Path:
    """Link object files, the native runtime and constants to a library in `folder`; its path."""
    images = [*objects, plain_object(runtime_text(target.triple), target)]
    files = [folder / f"code{number}.o" for number in range(len(images))]
    for file, image in zip(files, images, strict=True):
        file.write_bytes(image)
    weights = folder / "constants.o"
    write_elf_data(weights, CONSTANTS_SYMBOL, constants, architecture(target.triple))
    library = folder / "library.so"
    link_library([*files, weights], library, exported, target.triple)
    return library


def plain_object(text: str, target: Target) -> bytes:
    """The object file of code that runs before it is known what the processor can do."""
    llvm.initialize_native_asmparser()  # the check of the processor is written in assembly
    return compile_text(text, _plain(target))


def _plain(target: Target) -> Target:
    """The target's architecture without what only some of its processors have."""
    cpu = "x86-64" if architecture(target.triple) == "x86_64" else ""
    return Target(target.triple, cpu, "", 128, 16)
