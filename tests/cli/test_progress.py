from __future__ import annotations

import io

from rich.console import Console

from relay_tune.cli.progress import LineProgress, shown_progress
from relay_tune.cli.progress_live import LiveProgress
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.tuning.budget import TRIALS_PER_TASK
from relay_tune.tuning.events import (
    CostModelFailed,
    Event,
    Measured,
    PhaseStarted,
    RunStarted,
    TaskFinished,
    TaskStarted,
)


def measured(best: float | None, trials: int = 1) -> Measured:
    return Measured(
        title="conv2d+relu [8]",
        digest="d",
        outcome=Outcome.OK,
        seconds=best,
        message="",
        best=best,
        model_seconds=2e-3,
        limit_share=0.5,
        limit_name="L2",
        operations=2_000_000,
        bytes=1_000_000,
        trials=trials,
        rate=10.0,
        eta_seconds=65.0,
    )


EVENTS: tuple[Event, ...] = (
    RunStarted(3, 7, 100, 180.0),
    TaskStarted("conv2d+relu [8]", "d", 1, 3),
    measured(None, 1),
    measured(1e-3, 2),
    measured(1e-3, 3),
    measured(5e-4, 4),
    TaskFinished("conv2d+relu [8]", "d", "no gain in 24 candidates", 5e-4),
    CostModelFailed("out of memory"),
)


def test_phases_show_themselves() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    for done in range(3):
        progress(PhaseStarted("timing the whole network", done, 2))
    progress(PhaseStarted("building the library"))
    assert stream.getvalue().splitlines() == [
        "timing the whole network 0/2 ...",
        "building the library ...",
    ]
    console = Terminal()
    with LiveProgress(console) as live:
        live(PhaseStarted("measuring the winners again", 3, 18))
    assert "measuring the winners again 3/18" in console.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_tell_of_improvements_only() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    for event in EVENTS:
        progress(event)
    assert stream.getvalue().splitlines() == [
        "3 kernels, 7 records in the log; up to 100 candidates and 3:00 minutes",
        "conv2d+relu [8]: 1 ms, 2 GFLOP/s, 1 GB/s, 50% of the machine's limit (L2); "
        "model 2 ms; 2/100 candidates, "
        "10.0/s, 1:05 left",
        "conv2d+relu [8]: 500 us, 4 GFLOP/s, 2 GB/s, 50% of the machine's limit (L2); "
        "model 2 ms; 4/100 candidates, "
        "10.0/s, 1:05 left",
        "done: conv2d+relu [8]: 500 us, no gain in 24 candidates",
        "the cost model is given up: out of memory",
    ]


def test_a_run_that_time_alone_ends_names_no_number_of_candidates() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress(RunStarted(3, 7, 3 * TRIALS_PER_TASK, 180.0))
    progress(measured(1e-3, 2))
    first, second = stream.getvalue().splitlines()
    assert first == "3 kernels, 7 records in the log; up to 3:00 minutes"
    assert "; model 2 ms; 2 candidates, 10.0/s" in second


def test_a_pipe_gets_plain_lines() -> None:
    stream = io.StringIO()
    with shown_progress(stream) as progress:
        for event in EVENTS:
            progress(event)
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_a_drawing() -> None:
    with shown_progress(Terminal()) as progress:
        assert isinstance(progress, LiveProgress)
        for event in EVENTS:
            progress(event)
        console = Console(file=io.StringIO(), width=100, record=True)
        console.print(progress._table())
        text = console.export_text()
    assert "1/3  conv2d+relu [8]" in text
    assert "500 us, 4 GFLOP/s, 2 GB/s" in text and "50% of the machine's limit (L2)" in text
    assert "4 of 100 candidates, 10.0/s, 1:05 left" in text


def test_a_drawing_stands_before_anything_was_measured() -> None:
    stream = Terminal()
    with shown_progress(stream) as progress:
        progress(EVENTS[0])
        progress(EVENTS[1])
    assert "conv2d" in stream.getvalue()
