"""Finding a linker and making a shared library with it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from relay_tune.codegen.processor_features import architecture
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError

NATIVE_DRIVERS = ("cc", "gcc", "clang")


def linker_command(triple: str) -> list[str]:
    """The command that links for a target; BuildError says what to install if there is none."""
    family = architecture(triple)
    is_native = family == architecture(native_target().triple)
    names = NATIVE_DRIVERS if is_native else (f"{family}-linux-gnu-gcc",)
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return [path]
    if importlib.util.find_spec("ziglang") is not None:
        zig = [sys.executable, "-m", "ziglang", "cc"]
        return zig if is_native else [*zig, "-target", f"{family}-linux-gnu"]
    raise BuildError(
        f"No linker for {triple} was found; looked for {', '.join(names)} and the ziglang package.",
        remedy='Install a C compiler, or the extra: pip install "relay-tune[linker]". '
        "Without a linker a model can be built and called in this process, but not exported.",
    )


def link_library(
    objects: Sequence[Path], output: Path, exported: Sequence[str], triple: str
) -> None:
    """Link object files into `output`, which shows the symbols `exported` only."""
    script = output.with_suffix(".map")
    patterns = " ".join(f"{pattern};" for pattern in exported)
    script.write_text(f"{{ global: {patterns} local: *; }};\n")
    command = [
        *linker_command(triple),
        "-shared",
        "-o",
        str(output),
        *map(str, objects),
        f"-Wl,--version-script={script}",
        "-Wl,-z,noexecstack",
        "-pthread",
        "-lm",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(
            f"The linker {command[0]} failed.",
            notes=(result.stderr.strip()[-2000:] or f"exit code {result.returncode}",),
            remedy=(
                "Check that the linker makes libraries for this target, or install the "
                "extra `linker`, which brings one."
            ),
        )
