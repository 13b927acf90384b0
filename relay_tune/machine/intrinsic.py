"""Intrinsics: instructions on tiles, as records.

A record says what an instruction computes (its pattern), which processors have it, what it costs
next to vectors, how it is written as LLVM IR and how its speed is measured. Nests are matched with
its pattern; whatever is asked of them afterwards is asked of the match and of this record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from relay_tune.machine.pattern import Side, TilePattern
from relay_tune.machine.permission import Permission
from relay_tune.quick_dataclass import dataclass


class InstructionWriter(Protocol):
    """The function that instructions are written into."""

    declarations: set[str]

    def fresh(self, hint: str = "v") -> str:
        """A new local name."""

    def line(self, text: str) -> None:
        """Write an instruction."""

    def start_block(self, label: str) -> None:
        """Begin a block; the one before has to end with a branch."""


@dataclass(frozen=True, slots=True)
class Emission:
    """How the statements on an intrinsic's registers are written.

    Registers are numbers, pointers are names of LLVM values, distances of rows are
    operands of type i64, in bytes.

    Attributes:
        begin: `begin(writer, rows, widths)` before the first use of registers, which have so many
            rows of so many bytes; 0 stands for whole rows, which all are where no widths are given.
            Rows that only a run knows are the name of an LLVM value, the same for all such
            registers; they are at least one and no more than a register has.
        end: after the last one.
        clear: `clear(writer, register)`.
        load: `load(writer, side, register, pointer, stride)` of an operand.
        store: `store(writer, register, pointer, stride)` of results.
        multiply: `multiply(writer, into, left, right)`.
        marker: what stands in every text with such instructions.
    """

    begin: Callable[[InstructionWriter, Sequence[int | str], Sequence[int]], None]
    end: Callable[[InstructionWriter], None]
    clear: Callable[[InstructionWriter, int], None]
    load: Callable[[InstructionWriter, Side, int, str, str], None]
    store: Callable[[InstructionWriter, int, str, str], None]
    multiply: Callable[[InstructionWriter, int, int, int], None]
    marker: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """Which targets have an intrinsic.

    Attributes:
        features: LLVM's names of the features that it takes.
        cpus: beginnings of the names of processors that have them.
        system: the operating system that it takes, as triples name it; empty for any.
        vector_bits: the least width of vector registers.
        permission: what the operating system is to be asked for.
    """

    features: tuple[str, ...]
    cpus: tuple[str, ...] = ()
    system: str = ""
    vector_bits: int = 0
    permission: Permission | None = None

    def is_met(self, triple: str, cpu: str, features: str, vector_bits: int) -> bool:
        """Whether a target has it, with features as LLVM writes them (`+one,-another`)."""
        if self.system not in triple or vector_bits < self.vector_bits:
            return False
        given = features.split(",")
        if any(f"-{name}" in given for name in self.features):
            return False
        return cpu.startswith(self.cpus) or all(f"+{name}" in given for name in self.features)


@dataclass(frozen=True, slots=True)
class TileCosts:
    """What estimates know of an intrinsic, relative to what one instruction takes.

    Attributes:
        latency: how much longer a result takes than one instruction follows the one before.
        seen_ahead: the instructions among which a processor looks for those that wait for no other.
        operands: how much longer instructions take with operands from farther than registers.
        torn_rows: the same where rows of the left operand do not begin with a line.
        left_load: cycles that a register of a left operand takes beside what it is multiplied by:
            its rows lie apart.
        tile_cycles: the beginning and the end of a tile.
        code: instructions of a step for each register of results.
        filled: how much more of the second cache its operands can fill than others.
        unfetched: the part of the time in which constants come from memory that remains although
            they are fetched ahead.
    """

    latency: float
    seen_ahead: int
    operands: float
    torn_rows: float
    left_load: float
    tile_cycles: float
    code: int
    filled: int
    unfetched: float


@dataclass(frozen=True, slots=True)
class PeakLoop:
    """A loop that measures how fast an intrinsic is.

    Attributes:
        symbol: of its function.
        declarations: what its module declares.
        body: lines of LLVM IR from the entry, where %buffer and %count are known, to the return.
        calls: instructions of one step.
        operand_bytes: what a step reads of a thread's buffer.
    """

    symbol: str
    declarations: tuple[str, ...]
    body: tuple[str, ...]
    calls: int
    operand_bytes: int


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """An instruction on tiles.

    Attributes:
        key: what a target's key in tuning logs says of it.
        pattern: what it computes.
        exactness: how its sums differ from the same ones in the result's dtype.
        requirement: which targets have it.
        cycles: what one instruction takes: measured, or before that a figure of its processors.
        costs: what else estimates know of it.
        emission: how it is written.
        peak: how it is measured.
        mnemonic: its name in assembly, which profiles show.
    """

    key: str
    pattern: TilePattern
    exactness: str
    requirement: Requirement
    cycles: float
    costs: TileCosts
    emission: Emission
    peak: PeakLoop
    mnemonic: str = ""


def permissions(intrinsics: Iterable[Intrinsic]) -> tuple[Permission, ...]:
    """What the operating system is to be asked for, for each of these."""
    wanted = (each.requirement.permission for each in intrinsics)
    return tuple(dict.fromkeys(each for each in wanted if each is not None))


def used_in(intrinsics: Iterable[Intrinsic], texts: Iterable[str]) -> tuple[Intrinsic, ...]:
    """The intrinsics whose instructions stand in texts of LLVM IR, or in their declarations."""
    found = list(texts)
    return tuple(each for each in intrinsics if any(each.emission.marker in text for text in found))
