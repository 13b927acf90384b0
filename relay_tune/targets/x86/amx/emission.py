"""The instructions of the matrix registers as intrinsics of LLVM.

Each thread describes the registers before it uses them and releases them afterwards, so that the
operating system need not save them. Linux wants a process to ask for them once; a library may run
where nobody else does, so each module's kernels do.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.machine.intrinsic import Emission, InstructionWriter
from relay_tune.machine.pattern import Side
from relay_tune.machine.permission import Permission
from relay_tune.quick_dataclass import dataclass
from relay_tune.targets.x86.amx.description import matrix_description, matrix_descriptions

PERMISSION = Permission(prefix="amx-", call=158, arguments=(0x1023, 18), state=0x60000)
"""ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA: the component of the state that holds the
registers; they are 8 KB."""

ASKED = "matrix_permission"
"""Whether a module's kernels have asked for the registers."""


def _begin(writer: InstructionWriter, rows: Sequence[int | str], widths: Sequence[int]) -> None:
    """Describe the registers."""
    _ask(writer)
    found = [each for each in rows if isinstance(each, str)]
    words = ("n" if isinstance(each, str) else each for each in rows)
    name = f"matrix_rows_{'_'.join(map(str, (*words, *widths)))}"
    if found:
        description = matrix_descriptions([None if e in found else int(e) for e in rows], widths)
    else:
        description = matrix_description([int(each) for each in rows], widths)
    writer.declarations.add(f"@{name} = private unnamed_addr constant {description}, align 64")
    pointer = f"@{name}"
    if found:
        pointer = writer.fresh("rows")
        writer.line(f"{pointer} = getelementptr [64 x i8], ptr @{name}, i64 {found[0]}")
    _instruction(writer, "ldtilecfg", f"ptr {pointer}", "ptr")


def _end(writer: InstructionWriter) -> None:
    _instruction(writer, "tilerelease", "", "")


def _clear(writer: InstructionWriter, register: int) -> None:
    _instruction(writer, "tilezero", f"i8 {register}", "i8 immarg")


def _load(writer: InstructionWriter, _side: Side, register: int, pointer: str, stride: str) -> None:
    """Both operands are loaded alike."""
    _move(writer, "tileloadd64", register, pointer, stride)


def _store(writer: InstructionWriter, register: int, pointer: str, stride: str) -> None:
    _move(writer, "tilestored64", register, pointer, stride)


def _move(writer: InstructionWriter, name: str, register: int, pointer: str, stride: str) -> None:
    operands = f"i8 {register}, ptr {pointer}, i64 {stride}"
    _instruction(writer, name, operands, "i8 immarg, ptr, i64")


def _instruction(writer: InstructionWriter, name: str, operands: str, types: str) -> None:
    writer.declarations.add(f"declare void @llvm.x86.{name}({types})")
    writer.line(f"call void @llvm.x86.{name}({operands})")


def _ask(writer: InstructionWriter) -> None:
    """Ask for the registers once; where that was refused, no such kernel is built or loaded."""
    writer.declarations |= {
        f"@{ASKED} = internal global i8 0",
        "declare i64 @syscall(i64, ...)",
    }
    label = writer.fresh("matrix").removeprefix("%")
    known, missing = writer.fresh("known"), writer.fresh("missing")
    writer.line(f"{known} = load atomic i8, ptr @{ASKED} monotonic, align 1")
    writer.line(f"{missing} = icmp eq i8 {known}, 0")
    writer.line(f"br i1 {missing}, label %{label}.ask, label %{label}.granted")
    writer.start_block(f"{label}.ask")
    answer = writer.fresh("answer")
    writer.line(f"{answer} = call i64 (i64, ...) @syscall({PERMISSION.operands})")
    writer.line(f"store atomic i8 1, ptr @{ASKED} monotonic, align 1")
    writer.line(f"br label %{label}.granted")
    writer.start_block(f"{label}.granted")


@dataclass(frozen=True, slots=True)
class Multiplication:
    """Writes an instruction that multiplies registers; equal ones are, in other processes too."""

    instruction: str

    def __call__(self, writer: InstructionWriter, into: int, left: int, right: int) -> None:
        operands = ", ".join(f"i8 {n}" for n in (into, left, right))
        _instruction(writer, self.instruction, operands, "i8 immarg, i8 immarg, i8 immarg")


def emission_of(instruction: str) -> Emission:
    """The statements with the instruction that multiplies registers."""
    return Emission(
        begin=_begin,
        end=_end,
        clear=_clear,
        load=_load,
        store=_store,
        multiply=Multiplication(instruction),
        marker=f"@llvm.x86.{instruction}",
    )
