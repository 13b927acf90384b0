"""Candidates that crash, hang, lie or take all memory cost themselves only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.target import native_target
from relay_tune.errors import TuningError
from relay_tune.runtime.measuring.held_candidates import MOST_HELD
from relay_tune.runtime.measuring.inputs import MeasureInputs, Sample
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.runtime.measuring.measurer import Candidate, MeasureLimits, Measurer
from relay_tune.runtime.measuring.message import Slot, SlotKind

COUNT = 1000
SLOTS = (Slot(SlotKind.INPUT), Slot(SlotKind.OUTPUT), Slot(SlotKind.SCRATCH, bytes=256))
LIMITS = MeasureLimits(first_seconds=20.0, least_seconds=1.5, memory_bytes=1 << 30)

DOUBLE = """
  %in_at = getelementptr ptr, ptr %table, i64 0
  %in = load ptr, ptr %in_at
  %out_at = getelementptr ptr, ptr %table, i64 1
  %out = load ptr, ptr %out_at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %value = load float, ptr %from
  %result = {operation}
  %to = getelementptr float, ptr %out, i64 %i
  store float %result, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {count}
  br i1 %more, label %loop, label %end
end:
  ret void
"""


def doubling(operation: str = "fadd float %value, %value", count: int = COUNT) -> str:
    return DOUBLE.format(operation=operation, count=count)


def candidate(body: str, declarations: str = "") -> Candidate:
    target = native_target()
    text = f"""
target triple = "{target.triple}"
{declarations}
define void @measure_main(ptr %table, i64 %thread, i64 %threads) nounwind {{
entry:
{body}
}}
"""
    return Candidate((compile_text(text, target),), SLOTS)


FAULTS = {
    "null store": ("store i32 1, ptr null\n unreachable", "", Outcome.CRASH, "SIGSEGV"),
    "trap": (
        "call void @llvm.trap()\n unreachable",
        "declare void @llvm.trap()",
        Outcome.CRASH,
        "",
    ),
    "abort": (
        "call void @abort()\n unreachable",
        "declare void @abort()",
        Outcome.CRASH,
        "SIGABRT",
    ),
    "division by zero": (
        "%one = load volatile i64, ptr %table\n %same = load volatile i64, ptr %table\n"
        " %none = sub i64 %one, %same\n"
        " %bad = sdiv i64 1, %none\n store i64 %bad, ptr %table\n ret void",
        "",
        Outcome.CRASH,
        "SIGFPE",
    ),
    "exit": (
        "call void @_exit(i32 0)\n unreachable",
        "declare void @_exit(i32)",
        Outcome.CRASH,
        "exit code 0",
    ),
    "endless loop": (
        "br label %loop\nloop:\n %slept = call i32 @usleep(i32 1000)\n br label %loop",
        "declare i32 @usleep(i32)",  # other tests have the processor meanwhile
        Outcome.TIMEOUT,
        "no answer",
    ),
    "wrong numbers": (doubling("fadd float %value, 1.0"), "", Outcome.WRONG, "element"),
    "one element missing": (doubling(count=COUNT - 1), "", Outcome.WRONG, "element 999 is nan"),
    "nan": (doubling("fadd float %value, 0x7FF8000000000000"), "", Outcome.WRONG, "nan"),
    "one element too many": (doubling(count=COUNT + 1), "", Outcome.WRONG, "outside of output 0"),
    "unknown symbol": (
        "call void @no_such_function()\n ret void",
        "declare void @no_such_function()",
        Outcome.COMPILE_ERROR,
        "does not link",
    ),
}


STRAY_STORE = """
  %out_of = getelementptr ptr, ptr %table, i64 {slot}
  %base = load ptr, ptr %out_of
  %stray = getelementptr i8, ptr %base, i64 {offset}
  store volatile i8 1, ptr %stray
"""
STRAY_LOAD = """
  %out_of = getelementptr ptr, ptr %table, i64 {slot}
  %base = load ptr, ptr %out_of
  %stray = getelementptr i8, ptr %base, i64 {offset}
  %seen = load volatile i32, ptr %stray
"""
LATER = """
  %runs = load i64, ptr @runs
  %one_more = add i64 %runs, 1
  store i64 %one_more, ptr @runs
  %is_early = icmp slt i64 %runs, {runs}
  br i1 %is_early, label %right, label %wrong
wrong:
{wrong}
  br label %right
right:
"""
"""Runs `wrong` from a number of runs on, before the rest of the body."""

END_OF_DATA = 4 * COUNT

ONLY_ONCE = f"""right:
  %given = load ptr, ptr %table
  %once = select i1 %is_early, i64 {END_OF_DATA}, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr @kept, ptr %given, i64 %once, i1 false)
"""
"""Keeps the input of the first run."""


def later(runs: int, wrong: str) -> tuple[str, str]:
    """A body and its declarations: right at first, then `wrong` as well."""
    body = doubling().replace("[ 0, %entry ]", "[ 0, %right ]")
    return LATER.format(runs=runs, wrong=wrong) + body, "@runs = global i64 0"


def wrong_values(runs: int) -> tuple[str, str]:
    """A body that doubles, and adds one from a number of runs on."""
    add = "fadd float %sum, %shift"
    body, declarations = later(runs, "  store float 1.0, ptr @shift")
    body = body.replace(
        "%result = fadd float %value, %value",
        f"""%sum = fadd float %value, %value
  %shift = load float, ptr @shift
  %result = {add}""",
    )
    return body, f"{declarations}\n@shift = global float 0.0"


STRAY = {
    "reads 4 bytes behind its input": STRAY_LOAD.format(slot=0, offset=END_OF_DATA),
    "reads 4 bytes before its input": STRAY_LOAD.format(slot=0, offset=-4),
    "writes 8,000 bytes behind its output": STRAY_STORE.format(slot=1, offset=END_OF_DATA + 8000),
    "writes 8,000 bytes before its output": STRAY_STORE.format(slot=1, offset=-8000),
    "writes into its input": STRAY_STORE.format(slot=0, offset=8),
    "writes 60,000 bytes behind its scratch": STRAY_STORE.format(slot=2, offset=60_000),
    "writes behind its scratch": STRAY_STORE.format(slot=2, offset=256),
}


@pytest.fixture(scope="module")
def measurer() -> Iterator[Measurer]:
    values = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    data = MeasureInputs((values,), (), (values + values,))
    with Measurer(native_target(), 2, LIMITS) as shared:
        shared.load("doubling", data)
        yield shared


def test_a_good_candidate_has_a_time(measurer: Measurer) -> None:
    found = measurer.measure(candidate(doubling()), None)
    assert found.outcome is Outcome.OK, found.message
    assert found.seconds is not None and 0 < found.seconds < 1
    assert found.spread is not None and found.spread >= 0


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_the_next_candidate_is_measured(measurer: Measurer, name: str) -> None:
    body, declarations, outcome, words = FAULTS[name]
    found = measurer.measure(candidate(body, declarations), 1e-6)
    assert found.outcome is outcome, found
    assert words in found.message
    assert measurer.measure(candidate(doubling()), None).outcome is Outcome.OK


@pytest.mark.parametrize("name", STRAY)
def test_a_stray_access_is_found(measurer: Measurer, name: str) -> None:
    found = measurer.measure(candidate(STRAY[name] + doubling()), 1e-6)
    assert found.outcome in (Outcome.CRASH, Outcome.WRONG), found
    assert "outside of" in found.message or "changed input 0" in found.message
    assert measurer.measure(candidate(doubling()), None).outcome is Outcome.OK


@pytest.mark.parametrize("runs", [2, 4, 9])
def test_a_candidate_that_is_right_only_at_first_is_wrong(measurer: Measurer, runs: int) -> None:
    found = measurer.measure(candidate(*wrong_values(runs)), None)
    assert found.outcome is Outcome.WRONG, found
    assert "after it was timed: output 0: element" in found.message


@pytest.mark.parametrize("name", ["reads 4 bytes behind its input", "writes into its input"])
def test_a_stray_access_in_later_runs_is_found(measurer: Measurer, name: str) -> None:
    found = measurer.measure(candidate(*later(2, STRAY[name])), None)
    assert found.outcome in (Outcome.CRASH, Outcome.WRONG), found


def test_a_candidate_that_knows_the_answer_is_wrong_on_other_inputs() -> None:
    """The outputs of its first run serve all later ones."""
    values = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    others = np.random.default_rng(1).standard_normal(COUNT).astype(np.float32)
    body, declarations = later(1, "")
    body = body.replace("float, ptr %in,", "float, ptr @kept,").replace("right:\n", ONLY_ONCE, 1)
    declarations += f"""
@kept = global [{COUNT} x float] zeroinitializer
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""
    data = MeasureInputs((values,), (), (values + values,))
    with Measurer(native_target(), 1, LIMITS) as own:
        own.load("the same", data)
        assert own.measure(candidate(body, declarations), None).outcome is Outcome.OK
        own.load("others", replace(data, second=Sample((others,), (others + others,))))
        found = own.measure(candidate(body, declarations), None)
        assert found.outcome is Outcome.WRONG and "after it was timed" in found.message, found


def test_checked_candidates_wait_until_they_are_timed(measurer: Measurer) -> None:
    checked = [measurer.check(candidate(doubling()), None) for _ in range(3)]
    wrong = measurer.check(candidate(FAULTS["wrong numbers"][0]), None)
    for each in (*reversed(checked), checked[0]):
        assert measurer.time(each, None).outcome is Outcome.OK
    assert measurer.time(wrong, None).outcome is Outcome.WRONG


@pytest.mark.parametrize("name", ["null store", "endless loop", "one element too many"])
def test_a_fault_costs_those_that_wait_nothing(measurer: Measurer, name: str) -> None:
    waiting = measurer.check(candidate(doubling()), None)
    body, declarations, *_ = FAULTS[name]
    assert measurer.check(candidate(body, declarations), 1e-6).failure is not None
    assert waiting.worker is not measurer._worker
    assert measurer.time(waiting, None).outcome is Outcome.OK


def test_more_candidates_than_the_worker_holds_are_timed_all_the_same(measurer: Measurer) -> None:
    good = candidate(doubling())
    checked = [measurer.check(good, None) for _ in range(MOST_HELD + 1)]
    assert measurer.time(checked[0], None).outcome is Outcome.OK
    assert checked[0].worker is checked[-1].worker


def test_nothing_is_checked_after_the_end() -> None:
    values = np.ones(COUNT, np.float32)
    own = Measurer(native_target(), 1, LIMITS)
    own.load("doubling", MeasureInputs((values,), (), (values + values,)))
    own.close()
    with pytest.raises(TuningError, match="ended"):
        own.check(candidate(doubling()), None)


def test_endless_allocation_ends_at_the_limit(measurer: Measurer) -> None:
    body = """
  br label %loop
loop:
  %block = call ptr @malloc(i64 268435456)
  store i8 1, ptr %block
  br label %loop
"""
    found = measurer.measure(candidate(body, "declare ptr @malloc(i64)"), None)
    assert found.outcome in (Outcome.CRASH, Outcome.MEMORY)
    assert measurer.measure(candidate(doubling()), None).outcome is Outcome.OK


def test_what_a_candidate_prints_disturbs_nobody(measurer: Measurer) -> None:
    """A megabyte to each of the standard streams, in every run."""
    declarations = (
        "declare i64 @write(i32, ptr, i64)\n@text = global [1048576 x i8] zeroinitializer"
    )
    prints = "\n".join(
        f"%printed{n} = call i64 @write(i32 {n}, ptr @text, i64 1048576)" for n in (0, 1, 2)
    )
    found = measurer.measure(candidate(f"{prints}\n{doubling()}", declarations), None)
    assert found.outcome is Outcome.OK, found.message


def test_closing_leaves_no_process() -> None:
    values = np.ones(COUNT, np.float32)
    with Measurer(native_target(), 1, LIMITS) as own:
        own.load("doubling", MeasureInputs((values,), (), (values + values,)))
        assert own.measure(candidate(doubling()), None).outcome is Outcome.OK
        assert own._worker is not None
        pid = own._worker._process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


SAME_CONSTANT = """
  %constant_at = getelementptr ptr, ptr %table, i64 3
  %constant = load i64, ptr %constant_at
  %before = load i64, ptr @last
  store i64 %constant, ptr @last
  %is_same = icmp eq i64 %constant, %before
  %one_more = zext i1 %is_same to i64
  %known = load i64, ptr @repeated
  %repeated = add i64 %known, %one_more
  store i64 %repeated, ptr @repeated
  %is_first = icmp ult i64 %repeated, 2
  %divisor = zext i1 %is_first to i64
  %quotient = sdiv i64 1, %divisor
  store volatile i64 %quotient, ptr @last_quotient
"""
"""Divides by zero where more than one run found the constants where the run before did.

One does: the run that tells how many copies are worth making follows the one that is checked.
"""


@pytest.mark.parametrize(
    ("other_bytes", "outcome"), [(1 << 20, Outcome.OK), (0, Outcome.CRASH)], ids=["cold", "warm"]
)
def test_constants_lie_elsewhere_in_each_run_as_in_a_network(
    other_bytes: int, outcome: Outcome
) -> None:
    values = np.ones(COUNT, np.float32)
    globals_ = "\n".join(f"@{name} = global i64 0" for name in ("last", "repeated"))
    made = candidate(SAME_CONSTANT + doubling(), f"{globals_}\n@last_quotient = global i64 0")
    slots = (*SLOTS, Slot(SlotKind.CONSTANT))
    with Measurer(native_target(), 1, LIMITS) as own:
        data = MeasureInputs((values,), (values,), (values + values,), other_bytes)
        own.load("doubling", data)
        found = own.measure(Candidate(made.objects, slots, is_serial=True), None)
    assert found.outcome is outcome, found
