"""Writing a compiled program as a shared library with a C header.

The library needs libc alone (with libm and threads). Its weights lie in read-only pages that
processes share, until a first run copies many of them to large pages
(`relay_tune.codegen.programs.weight_pages`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from relay_tune.arguments import unwritable
from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.compiler_runtime import compiler_runtime_text
from relay_tune.codegen.constants import CONSTANTS_SYMBOL
from relay_tune.codegen.linking.shared_object import (
    LibraryNames,
    Weights,
    undefined_symbols,
    write_shared_object,
)
from relay_tune.codegen.native_runtime.runtime_text import runtime_text
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, InputError
from relay_tune.machine.linking import Linking
from relay_tune.new_files import new_files
from relay_tune.quick_dataclass import dataclass
from relay_tune.targets.registry import BUILT_IN, architecture_of

METADATA_FORMAT = 8

NAME_A_LIBRARY = "Name a file, such as model.so."
"""The remedy for a library path that is no path."""

INSIDE = "relay_tune_"
"""How names begin that the parts of a library have for each other."""

FOREIGN_SUFFIXES = (".dll", ".dylib", ".exe", ".lib", ".pyd", ".a", ".o")
"""Of files that are no shared libraries of Linux."""


@dataclass(frozen=True, slots=True)
class LibraryTexts:
    """The parts of a library beside its code and the native runtime.

    Attributes:
        interface: the LLVM module of the functions that callers see; it runs before it is known
            what the processor can do.
        header: the C header.
        metadata: what a loader has to know, as JSON.
        aliases: functions that callers see, and which of the code each is.
    """

    interface: str
    header: str
    metadata: str
    aliases: Mapping[str, str] = field(default_factory=dict)


def publish(path: Path, name: str, code: CompiledCode, texts: LibraryTexts) -> None:
    """Write a library, whose functions begin with `name`, and its header, or neither."""
    header = header_of(path)
    for file in (path, header):
        if file.exists() and not file.is_file():
            raise InputError(
                f"{file} cannot be written: it is no regular file.",
                remedy="Name a new file, or one that may be replaced.",
            )
    check_library_target(code.target.triple)
    linking = linking_of(code.target.triple)
    weights = Weights(CONSTANTS_SYMBOL, code.constants.size, code.constants.pieces)
    names = LibraryNames(path.name, (f"{name}_*",), texts.metadata.encode(), texts.aliases)
    images = [
        *code.objects,
        plain_object(texts.interface, code.target),
        plain_object(runtime_text(code.target.triple), code.target),
    ]
    images += _compiler_runtime(images, code.target)
    try:
        with new_files(path, permissions=0o777) as (library,):
            write_shared_object(library, images, weights, names, linking)
            with new_files(header) as (text,):
                text.write(texts.header.encode())
    except OSError as error:
        raise unwritable(path, error) from error


def _compiler_runtime(images: Sequence[bytes], target: Target) -> list[bytes]:
    """An object with the functions that LLVM calls and no system has, if there are any."""
    wanted = undefined_symbols(images, linking_of(target.triple))
    text = compiler_runtime_text(target.triple, wanted)
    return [plain_object(text, target)] if text else []


def check_library_target(triple: str) -> None:
    """Raise BuildError for a target for which no libraries are written."""
    if "linux" not in triple:
        raise BuildError(
            f"Libraries are written for Linux, not for {triple}.",
            remedy=(
                "Choose a Linux target, such as x86_64-linux-gnu or aarch64-linux-gnu; in "
                "this process rt.build works without a library."
            ),
        )
    linking_of(triple)


def linking_of(triple: str) -> Linking:
    """Linking facts of the target; BuildError where its architecture has none."""
    own = architecture_of(triple)
    if own.linking is None:
        known = ", ".join(each.name for each in BUILT_IN if each.linking is not None)
        raise BuildError(
            f"A library for {own.name} cannot be written.",
            notes=(f"Known are: {known}, with ELF files.",),
            remedy="Choose a target with one of these processors.",
        )
    return own.linking


def header_of(path: Path) -> Path:
    """The header beside a library; InputError where a library cannot be called so."""
    if path.suffix == ".h" or not path.name:
        raise InputError(f"{path} is no name for a library.", remedy=NAME_A_LIBRARY)
    if path.suffix.lower() in FOREIGN_SUFFIXES:
        raise InputError(
            f"{path} is no name for a library: the target is Linux, whose shared libraries end "
            "with .so.",
            remedy=f"Write {path.with_suffix('.so')}.",
        )
    return path.with_suffix(".h")


def c_name(stem: str) -> str:
    """A file's stem as a C identifier with which no name inside of libraries begins."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", stem)
    is_ours = INSIDE.startswith(f"{name}_") or name.startswith(INSIDE.rstrip("_"))
    return f"model_{name}" if not name or name[0].isdigit() or is_ours else name


def metadata_text(code: CompiledCode, name: str, **described: object) -> str:
    """The library's description for loaders, as JSON, `described` included."""
    return json.dumps(
        {
            "format": METADATA_FORMAT,
            "name": name,
            "triple": code.target.triple,
            "target": str(code.target),
            "features": code.features,
            "threads": code.threads,
            **described,
        }
    )


def plain_object(text: str, target: Target) -> bytes:
    """The object file of code that runs before it is known what the processor can do."""
    return compile_text(text, _plain(target))


def _plain(target: Target) -> Target:
    """The target's architecture without what only some of its processors have."""
    cpu = architecture_of(target.triple).plain_cpu
    vectors = architecture_of(target.triple).vectors(cpu, "")
    return Target(target.triple, cpu, "", vectors.bits, vectors.registers)
