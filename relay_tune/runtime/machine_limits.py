"""What this machine can reach: arithmetic and cache traffic, measured by generated loops.

One loop multiplies and adds in registers; the other one reads a buffer that fits into the cache of
a core. No kernel can take less time than its operations or its bytes take at these rates.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.repeat_function import MEASURED_SYMBOL
from relay_tune.codegen.target import Target
from relay_tune.errors import TuningError
from relay_tune.runtime.measure_message import Slot, SlotKind
from relay_tune.runtime.measurement import Outcome
from relay_tune.runtime.measurer import Candidate, Measurer

CHAINS = 12
"""Independent chains of operations: latency times throughput of current cores, and some more."""

ARITHMETIC_STEPS = 100_000
BUFFER_BYTES = 256 << 10
READ_ROUNDS = 64
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """Rates of all threads of a run together.

    Attributes:
        operations: float32 operations a second; a fused multiply-add counts two.
        bytes: bytes read a second from a core's own cache.
    """

    operations: float
    bytes: float

    def seconds(self, operations: int, bytes_moved: int) -> float:
        """The least time for so much work."""
        return max(operations / self.operations, bytes_moved / self.bytes)

    def joined(self, other: MachineLimits) -> MachineLimits:
        """The higher rates of two measurements: disturbances only ever lower them."""
        return MachineLimits(max(self.operations, other.operations), max(self.bytes, other.bytes))


def measure_limits(measurer: Measurer, target: Target, threads: int) -> MachineLimits:
    """Measure the limits of this machine; `measurer` must have been loaded with any data.

    Raises TuningError where the loops cannot be run.
    """
    lanes = target.lanes("float32")
    operations = ARITHMETIC_STEPS * CHAINS * lanes * 2 * threads
    bytes_read = BUFFER_BYTES * READ_ROUNDS * threads
    return MachineLimits(
        operations / _seconds(measurer, arithmetic_text(target), target, threads),
        bytes_read / _seconds(measurer, reading_text(target), target, threads),
    )


def _seconds(measurer: Measurer, text: str, target: Target, threads: int) -> float:
    scratch = Slot(SlotKind.SCRATCH, bytes=BUFFER_BYTES * threads)
    candidate = Candidate((compile_text(text, target),), (scratch,))
    return min(_measured(measurer, candidate) for _ in range(REPETITIONS))


def _measured(measurer: Measurer, candidate: Candidate) -> float:
    measurement = measurer.measure(candidate, None)
    if measurement.outcome is not Outcome.OK or measurement.seconds is None:
        raise TuningError(
            "The speed of this machine cannot be measured.",
            notes=(f"{measurement.outcome}: {measurement.message}",),
        )
    return measurement.seconds


def arithmetic_text(target: Target) -> str:
    """A module whose main function runs chains of fused multiply-adds."""
    vector = f"<{target.lanes('float32')} x float>"
    name = f"@llvm.fma.v{target.lanes('float32')}f32"
    steps = [
        f"  %next{n} = call {vector} {name}({vector} %sum{n}, {vector} %own, {vector} %own)"
        for n in range(CHAINS)
    ]
    declaration = f"declare {vector} {name}({vector}, {vector}, {vector})"
    return _loop_text(target, declaration, steps, ARITHMETIC_STEPS)


def reading_text(target: Target) -> str:
    """A module whose main function reads each thread's buffer again and again."""
    vector = f"<{target.lanes('float32')} x float>"
    width = target.vector_bits // 8
    steps_a_round = BUFFER_BYTES // (width * CHAINS)
    steps = [f"  %row = urem i64 %step, {steps_a_round}", f"  %start = mul i64 %row, {CHAINS}"]
    for n in range(CHAINS):
        steps += [
            f"  %number{n} = add i64 %start, {n}",
            f"  %place{n} = getelementptr {vector}, ptr %buffer, i64 %number{n}",
            f"  %read{n} = load {vector}, ptr %place{n}, align {width}",
            f"  %next{n} = fadd {vector} %sum{n}, %read{n}",
        ]
    return _loop_text(target, "", steps, steps_a_round * READ_ROUNDS)


def _loop_text(target: Target, declaration: str, steps: list[str], count: int) -> str:
    """A loop that carries the vectors %sum0.. to %next0..; %own differs from thread to thread."""
    vector = f"<{target.lanes('float32')} x float>"
    carried = [
        f"  %sum{n} = phi {vector} [ zeroinitializer, %entry ], [ %next{n}, %loop ]"
        for n in range(CHAINS)
    ]
    stored = []
    for n in range(CHAINS):
        stored += [
            f"  %out{n} = getelementptr {vector}, ptr %buffer, i64 {n}",
            f"  store {vector} %next{n}, ptr %out{n}, align 4",
        ]
    lines = [
        f'target triple = "{target.triple}"',
        declaration,
        f"define void @{MEASURED_SYMBOL}(ptr %table, i64 %thread, i64 %threads) nounwind {{",
        "entry:",
        "  %memory = load ptr, ptr %table, align 8",
        f"  %offset = mul i64 %thread, {BUFFER_BYTES}",
        "  %buffer = getelementptr i8, ptr %memory, i64 %offset",
        f"  %own = load {vector}, ptr %buffer, align 4",
        "  br label %loop",
        "loop:",
        "  %step = phi i64 [ 0, %entry ], [ %following, %loop ]",
        *carried,
        *steps,
        "  %following = add i64 %step, 1",
        f"  %more = icmp ult i64 %following, {count}",
        "  br i1 %more, label %loop, label %end",
        "end:",
        *stored,
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"
