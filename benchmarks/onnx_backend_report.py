"""How many of ONNX's own conformance tests pass, natively or interpreted, and how many do not.

    python -m benchmarks.onnx_backend_report [--kind KIND] [--match REGEX] [--workers N]

A wrong answer is the failure that counts: unsupported models must say so. What passes only after
values of inputs became constants of the model is counted by itself: whoever brings such a model
has to give these values before it is compiled. Tests run in worker processes, so that a crash or a
hang costs one test only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from benchmarks.onnx_suite_cases import KINDS, data_sets, difference, leniency, load_cases, model_of
from relay_tune.errors import RelayError, UnsupportedOperatorError
from relay_tune.onnx_backend import Backend

PASSES = (
    *("pass native", "pass native, constants"),
    *("pass interpreted", "pass interpreted, constants"),
)
"""With `constants`: after values of inputs became constants."""

FAILURES = ("wrong", "error", "crash", "timeout")
STATUSES = (*PASSES, "unsupported", *FAILURES)


@dataclass(frozen=True)
class Outcome:
    """What became of one test.

    Attributes:
        name: of the test.
        status: one of `STATUSES`.
        detail: what went wrong, or which inputs became constants.
        leniency: why it was not compared as ONNX's own runner does; empty for almost all.
    """

    name: str
    status: str
    detail: str = ""
    leniency: str = ""


def run_case(case: Any) -> Outcome:
    """Run one test of ONNX's suite with all of its data sets."""
    model = model_of(case)
    try:
        representation = Backend.prepare(model)
        for inputs, outputs in data_sets(case, model):
            problem = difference(representation.run(inputs), outputs, case)
            if problem:
                return Outcome(case.name, "wrong", problem)
    except UnsupportedOperatorError as error:
        return Outcome(case.name, "unsupported", str(error))
    except RelayError as error:
        return Outcome(case.name, "error", str(error))
    except Exception as error:  # noqa: BLE001  (a report must go on)
        return Outcome(case.name, "crash", f"{type(error).__name__}: {error}")
    made = "native" if representation.native else "interpreted"
    named = representation.constants
    status = f"pass {made}{', constants' if named else ''}"
    return Outcome(case.name, status, ", ".join(named), leniency(case))


def serve(cases: Sequence[Any], channel: Connection) -> None:
    """A worker: run the cases whose numbers arrive."""
    while (number := channel.recv()) is not None:
        channel.send(run_case(cases[number]))


class Worker:
    """A process that runs one case at a time and can be replaced."""

    def __init__(self, cases: Sequence[Any]) -> None:
        self._cases = cases
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.channel, other = context.Pipe()
        self._process = context.Process(target=serve, args=(self._cases, other), daemon=True)
        self._process.start()
        other.close()

    def run(self, number: int, timeout: float) -> Outcome:
        """The outcome of one case."""
        name = self._cases[number].name
        self.channel.send(number)
        try:
            if self.channel.poll(timeout):
                outcome: Outcome = self.channel.recv()
                return outcome
            outcome = Outcome(name, "timeout", f"more than {timeout} s")
        except EOFError:
            outcome = Outcome(name, "crash", "the process died")
        self._process.kill()
        self._process.join()
        self._start()
        return outcome

    def stop(self) -> None:
        """End the process."""
        self.channel.send(None)
        self._process.join()


def report(outcomes: Sequence[Outcome], verbose: bool) -> None:
    """Counts, and the tests behind them."""
    counts = Counter(outcome.status for outcome in outcomes)
    for status in reversed(STATUSES):
        for outcome in sorted(outcomes, key=lambda each: each.name):
            if outcome.status == status and (status in FAILURES or (verbose and outcome.detail)):
                print(f"{status}: {outcome.name}: {_first_line(outcome.detail)}")
    for outcome in outcomes:
        if outcome.leniency and outcome.status in PASSES:
            print(f"compared otherwise: {outcome.name}: {outcome.leniency}")
    total = len(outcomes)
    for status in STATUSES:
        count = counts[status]
        print(f"{status:27} {count:5}  {100 * count / max(total, 1):5.1f} %")
    print(f"{'total':27} {total:5}")


def _first_line(detail: str) -> str:
    return next(iter(detail.splitlines()), "")[:200]


def run_all(cases: Sequence[Any], workers: int, timeout: float) -> list[Outcome]:
    """The outcome of each case; each worker process takes the next case when it is free."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(workers):
        idle.put(Worker(cases))

    def run(number: int) -> Outcome:
        worker = idle.get()
        try:
            return worker.run(number, timeout)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(workers) as pool:
        outcomes = list(pool.map(run, range(len(cases))))
    for _ in range(workers):
        idle.get().stop()
    return outcomes


def main() -> int:
    """Run the tests; the exit code is 1 if any answer is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--match", default="", help="run only tests whose name matches")
    parser.add_argument("--kind", default="all", choices=("all", *KINDS), help="which cases")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a test")
    parser.add_argument("--workers", type=int, default=1, help="processes that run tests")
    parser.add_argument(
        "--verbose", action="store_true", help="list every test but the plain passes"
    )
    options = parser.parse_args()
    cases = [case for case in load_cases(options.kind) if re.search(options.match, case.name)]
    outcomes = run_all(cases, options.workers, options.timeout)
    report(outcomes, options.verbose)
    return int(any(outcome.status in ("wrong", "crash") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
