"""An architecture: what all processors have in common that triples name alike, as a record.

Only its name and its vectors have to be given. What else is left out costs what it says: without
`linking` there are no shared libraries, without `stack_switch` no programs with control flow,
without `check` libraries do not look at the processor before they run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from relay_tune.machine.coefficients import MEASURED_ON_SERVERS, Coefficients
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.linking import Linking
from relay_tune.machine.pattern import WORD_BITS, WordPattern, WordSteps
from relay_tune.machine.permission import Permission
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector registers of a processor.

    Attributes:
        bits: their width.
        registers: how many there are.
        scales_powers: whether they have the instructions of AVX-512DQ that split and scale floats
            by powers of two.
        rounds_bfloats: whether one instruction rounds a vector of floats to bfloat16.
    """

    bits: int
    registers: int
    scales_powers: bool = False
    rounds_bfloats: bool = False


@dataclass(frozen=True, slots=True)
class DotProduct:
    """An instruction that sums products of narrow elements in each lane of 32 bits.

    Attributes:
        dtype: of the factors, as rates of machines are called.
        sum_type: LLVM's type of the sums.
        factor_type: LLVM's type of both factors.
        instruction: the intrinsic function of LLVM.
        steps: products for each lane.
        features: LLVM's names of what it takes.
        vector_bits: of the vectors.
        pattern: what it computes of words of int32; None where kernels do not use it.
        accumulates: whether it adds to sums, its first argument; else an addition follows.
        fixed: a callee in LLVM IR that gives back such sums, so that LLVM leaves the order of
            additions alone; empty where that is not needed.
        mnemonic: its name in assembly, which profiles show; they show `dtype` where it is empty.
        in_steps: what it takes as machine code where it is several instructions there.
        pair_sums: the intrinsic function of LLVM that makes sums of two products in 16 bits of
            the factors, of which `instruction` then adds up two with factors of one; empty where
            that multiplies the factors themselves.
        slow_cpus: beginnings of the names of processors that split it into many steps, so that
            fused multiply-adds of floats are faster.
    """

    dtype: str
    sum_type: str
    factor_type: str
    instruction: str
    steps: int
    features: tuple[str, ...]
    vector_bits: int
    pattern: WordPattern | None = None
    accumulates: bool = True
    fixed: str = ""
    mnemonic: str = ""
    in_steps: WordSteps | None = None
    slow_cpus: tuple[str, ...] = ()
    pair_sums: str = ""

    @property
    def lanes(self) -> int:
        """The sums."""
        return self.vector_bits // WORD_BITS


@dataclass(frozen=True, slots=True)
class Lookup:
    """An instruction that looks up the elements of a vector in a table that other registers hold.

    Attributes:
        instruction: the intrinsic function of LLVM, of those registers and the indices.
        dtype: of the elements; indices are integers of as many bits.
        lanes: of a register.
        features: LLVM's names of what it takes.
        registers: how many of them are the part of a table that it sees.
        index_place: which of its arguments the indices are.
        is_zero_beyond: whether it gives 0 for an index that is beyond its part; else it reads only
            the low bits of an index, which number the elements of its part.
    """

    instruction: str
    dtype: str
    lanes: int
    features: tuple[str, ...]
    registers: int = 1
    index_place: int = 1
    is_zero_beyond: bool = False


@dataclass(frozen=True, slots=True)
class Streaming:
    """Stores that do not pass through the caches (LLVM's `!nontemporal`).

    Attributes:
        declaration, fence: the declaration and the call that order them before what follows.
        bytes: of results that are larger than this they fill more quickly.
    """

    declaration: str
    fence: str
    bytes: int


@dataclass(frozen=True, slots=True)
class StackSwitch:
    """Two functions in assembly, a line for each instruction.

    Attributes:
        enter: runs a function on another stack.
        abort: leaves it from anywhere.
    """

    enter: tuple[str, ...]
    abort: tuple[str, ...]


def nothing_asked(
    name: str, _triple: str, _features: Collection[str], _permissions: Sequence[Permission]
) -> str:
    """The check that says yes: the LLVM function `i1 NAME()`."""
    return f"define internal i1 @{name}() nounwind {{\n  ret i1 true\n}}\n"


SUBNORMALS_KEPT = """\
define internal i32 @flush_subnormals() nounwind {
entry:
  ret i32 0
}

define internal void @restore_control(i32 %control) nounwind {
entry:
  ret void
}
"""
"""For processors that compute with subnormal numbers at full speed or nearly so."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Architecture:
    """What code generation has to know of an architecture.

    Attributes:
        name: how triples begin.
        vectors: of a processor with features, both as LLVM names them (`+one,-another`).
        aliases: other beginnings of triples.
        impossible_cpus: processors that LLVM knows for its triples and that cannot run such code.
        plain_cpu: LLVM's name of what all its processors have.
        intrinsics: its instructions on tiles, in the order in which nests are matched with them.
        dot_products: its instructions on words, measured beside the fused multiply-add of float32.
        lookups: its instructions that look up floats or bytes in registers; of those of a type and
            width the first that a processor has is used.
        features: that libraries look for before they run.
        check: `check(name, triple, features, permissions)` is the LLVM function `i1 NAME()` that
            looks for them, and asks the system for permissions.
        host_features: asks the system for them; None where LLVM knows those of this processor.
        pause: the declaration and the call that tell the processor that a thread is spinning.
        level_of_calls: LLVM's level for code that does little but call kernels: 0 where it selects
            instructions block by block then.
        reduces_strength: whether LLVM looks for other induction variables in kernels, whose loops
            have one address for each operand already.
        streaming: how large results are filled; None where ordinary stores do as well.
        subnormals: the functions of `relay_tune.codegen.subnormals` in LLVM IR.
        stack_switch: what programs with control flow need.
        linking: what shared libraries need.
        coefficients: of the estimate, for processors that no log has others for.
    """

    name: str
    vectors: Callable[[str, str], Vectors]
    aliases: tuple[str, ...] = ()
    impossible_cpus: frozenset[str] = frozenset()
    plain_cpu: str = ""
    intrinsics: tuple[Intrinsic, ...] = ()
    dot_products: tuple[DotProduct, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    features: Collection[str] = ()
    check: Callable[[str, str, Collection[str], Sequence[Permission]], str] = nothing_asked
    host_features: Callable[[], dict[str, bool]] | None = None
    pause: tuple[str, str] = ("", "fence seq_cst")
    level_of_calls: int = 1
    reduces_strength: bool = True
    streaming: Streaming | None = None
    subnormals: str = SUBNORMALS_KEPT
    stack_switch: StackSwitch | None = None
    linking: Linking | None = None
    coefficients: Coefficients = MEASURED_ON_SERVERS

    @property
    def names(self) -> tuple[str, ...]:
        """All beginnings of its triples."""
        return (self.name, *self.aliases)
