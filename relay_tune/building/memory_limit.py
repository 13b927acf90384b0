"""Programs that need more memory than the machine has are refused before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Sequence

from relay_tune.errors import BuildError
from relay_tune.ir.types import TensorType
from relay_tune.program.instructions import DeferKernel, Register, RunRegion
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.region import Buffer, Origin, Region
from relay_tune.typing.type_text import type_text

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


def physical_memory() -> int | None:
    """The bytes of memory of this machine, where the system tells."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_kernels(program: FirstOrderProgram) -> None:
    """Raise BuildError if what a kernel touches is more than the machine's memory.

    Inputs and outputs of a region exist all the time. This is a lower bound, known before there is
    any code; `check_region` has the exact figure.
    """
    for function in program.functions.values():
        for instruction in (each for block in function.blocks for each in block.instructions):
            match instruction:
                case RunRegion():
                    check_region(instruction.region, _most_touched(instruction.region))
                case DeferKernel():
                    types = _types((*instruction.inputs, *instruction.outputs))
                    _require(sum(map(_known_bytes, types)), types)


def check_tensors(types: Sequence[TensorType]) -> None:
    """Raise BuildError if tensors that exist at the same time are more than the memory."""
    known = [type_ for type_ in types if all(isinstance(dim, int) for dim in type_.shape)]
    _require(sum(map(_known_bytes, known)), known)


def check_region(region: Region, others: int) -> None:
    """Raise BuildError if inputs, outputs and `others` bytes are more than there are."""
    always = {*region.inputs, *region.outputs}
    computed = (buffer for run in region.runs for buffer in run.outputs)
    needed = others + sum(buffer.known_size for buffer in always)
    _require(needed, [buffer.type for buffer in (*always, *computed)])


def _most_touched(region: Region) -> int:
    """The bytes that one kernel touches beside inputs and outputs."""
    always = {*region.inputs, *region.outputs}
    most = 0
    for run in region.runs:
        touched = {region.located(buffer).whole for buffer in (*run.inputs, *run.outputs)}
        most = max(most, sum(buffer.known_size for buffer in touched - always))
    return most


def _types(registers: Sequence[Register]) -> list[TensorType]:
    """The types of different tensors of known shape."""
    kinds = (register.kind for register in dict.fromkeys(registers))
    return [kind.type for kind in kinds if isinstance(kind, TensorKind) and not kind.is_open]


def _require(needed: int, types: Sequence[TensorType]) -> None:
    available = physical_memory()
    if available is None or needed <= available:
        return
    largest = max(types, key=_known_bytes)
    raise BuildError(
        f"The program needs {_amount(needed)} of memory; this machine has {_amount(available)}.",
        notes=(f"Its largest tensor is {type_text(largest)}: {_amount(_known_bytes(largest))}.",),
        remedy="Give the inputs smaller shapes, or use a machine with more memory.",
    )


def _known_bytes(type_: TensorType) -> int:
    return Buffer(type_, Origin.COMPUTED).known_size


def _amount(count: int) -> str:
    """Bytes in a unit that gives a short number."""
    power = min(max(len(str(count)) - 1, 0) // 3, len(_UNITS) - 1)
    return f"{count / 1000**power:.3g} {_UNITS[power]}"
