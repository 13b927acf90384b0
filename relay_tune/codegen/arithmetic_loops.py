"""Loops of one multiply-add instruction each: what a processor can compute at most."""

from __future__ import annotations

from relay_tune.codegen.limit_loops import CHAINS, loop_entry, stored_chains
from relay_tune.codegen.target import Target
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ArithmeticLoop:
    """A loop over CHAINS independent multiply-adds.

    Attributes:
        dtype: the element type of the factors.
        lanes: of the accumulator.
        operations: arithmetic operations of one instruction; a multiply-add of one element is two.
        sum_type: LLVM's type of the accumulator.
        factor_type: LLVM's type of both factors.
        instruction: the intrinsic function.
        is_sum_first: whether the accumulator is its first argument, and not its last.
        accumulates: whether it adds to the accumulator; else one of its factors is that, so that
            each step has to do it again, and an addition follows.
        pair_sums: what makes, of the factors, those of `instruction`, beside factors of one; empty
            where that multiplies them itself.
    """

    dtype: str
    lanes: int
    operations: int
    sum_type: str
    factor_type: str
    instruction: str
    is_sum_first: bool = True
    accumulates: bool = True
    pair_sums: str = ""

    @property
    def symbol(self) -> str:
        """The name of the function."""
        return f"limit_{self.dtype}"


def arithmetic_loops(target: Target) -> tuple[ArithmeticLoop, ...]:
    """The loops that a target has instructions for, float32 first."""
    lanes = target.lanes("float32")
    found = [
        ArithmeticLoop(
            "float32",
            lanes,
            2 * lanes,
            _float(lanes),
            _float(lanes),
            f"llvm.fmuladd.v{lanes}f32",
            False,
        )
    ]
    for each in target.dot_products:
        known = {loop.dtype for loop in found}
        if each.vector_bits == target.vector_bits and each.dtype not in known:
            found.append(
                ArithmeticLoop(
                    each.dtype,
                    lanes,
                    2 * each.steps * lanes,
                    each.sum_type,
                    each.factor_type,
                    each.instruction,
                    accumulates=each.accumulates,
                    pair_sums=each.pair_sums,
                )
            )
    return tuple(found)


def arithmetic_text(loop: ArithmeticLoop, target: Target) -> str:
    """The LLVM module of a loop."""
    total, factor = loop.sum_type, loop.factor_type
    sums, steps = [], []
    for n in range(CHAINS):
        sums.append(f"  %sum{n} = phi {total} [ zeroinitializer, %entry ], [ %next{n}, %loop ]")
        steps += _step(loop, n)
    lines = [
        f'target triple = "{target.triple}"',
        *_declarations(loop),
        *loop_entry(loop.symbol),
        f"  %factor = load {factor}, ptr %buffer, align 4",
        "  br label %loop",
        "loop:",
        "  %step = phi i64 [ 0, %entry ], [ %following, %loop ]",
        *sums,
        *steps,
        "  %following = add i64 %step, 1",
        "  %more = icmp ult i64 %following, %count",
        "  br i1 %more, label %loop, label %end",
        "end:",
        *stored_chains(total),
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _declarations(loop: ArithmeticLoop) -> list[str]:
    """Those of the intrinsic functions that it calls."""
    total, factor = loop.sum_type, loop.factor_type
    if loop.pair_sums:
        half = half_type(loop.lanes)
        return [
            f"declare {half} @{loop.pair_sums}({factor}, {factor})",
            f"declare {total} @{loop.instruction}({half}, {half})",
        ]
    types = [factor, factor]
    if loop.accumulates:
        types.insert(0 if loop.is_sum_first else 2, total)
    return [f"declare {total} @{loop.instruction}({', '.join(types)})"]


def _step(loop: ArithmeticLoop, chain: int) -> list[str]:
    """One operation of a chain."""
    total, factor = loop.sum_type, loop.factor_type
    arguments = [f"{factor} %factor"] * 2
    if loop.accumulates:
        arguments.insert(0 if loop.is_sum_first else 2, f"{total} %sum{chain}")
        called = f"call {total} @{loop.instruction}({', '.join(arguments)})"
        return [f"  %next{chain} = {called}"]
    arguments[0] = f"{factor} %from{chain}"
    lines = [f"  %from{chain} = bitcast {total} %sum{chain} to {factor}"]
    if loop.pair_sums:
        half = half_type(loop.lanes)
        ones = ", ".join(2 * loop.lanes * ["i16 1"])
        lines.append(f"  %pairs{chain} = call {half} @{loop.pair_sums}({', '.join(arguments)})")
        arguments = [f"{half} %pairs{chain}", f"{half} <{ones}>"]
    return [
        *lines,
        f"  %product{chain} = call {total} @{loop.instruction}({', '.join(arguments)})",
        f"  %next{chain} = add {total} %sum{chain}, %product{chain}",
    ]


def half_type(lanes: int) -> str:
    """LLVM's type of the sums of two products in 16 bits, for sums of so many lanes."""
    return f"<{2 * lanes} x i16>"


def _float(lanes: int) -> str:
    return f"<{lanes} x float>"
