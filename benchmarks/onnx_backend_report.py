"""How many of ONNX's own conformance tests pass, natively or interpreted, and how many do not.

    python -m benchmarks.onnx_backend_report [--kind KIND] [--match REGEX] [--workers N]

A wrong answer is the failure that counts: unsupported models must say so. Tests run in worker
processes, so that a crash or a hang costs one test only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from relay_tune.errors import RelayError, UnsupportedOperatorError
from relay_tune.onnx_backend import Backend

STATUSES = (
    *("pass native", "pass interpreted", "unsupported"),
    *("wrong", "error", "crash", "timeout"),
)


@dataclass(frozen=True)
class Outcome:
    """What became of one test: a status of `STATUSES`."""

    name: str
    status: str
    detail: str = ""


def run_case(case: Any) -> Outcome:
    """Run one test of ONNX's suite with all of its data sets."""
    model = case.model
    if model is None:
        model = onnx.load(str(Path(case.model_dir) / "model.onnx"))
    try:
        representation = Backend.prepare(model)
        for inputs, outputs in data_sets(case):
            problem = compare(representation.run(inputs), outputs, case)
            if problem:
                return Outcome(case.name, "wrong", problem)
    except UnsupportedOperatorError as error:
        return Outcome(case.name, "unsupported", str(error))
    except RelayError as error:
        return Outcome(case.name, "error", str(error))
    except Exception as error:  # noqa: BLE001  (a report must go on)
        return Outcome(case.name, "crash", f"{type(error).__name__}: {error}")
    return Outcome(case.name, "pass native" if representation.native else "pass interpreted")


def data_sets(case: Any) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Inputs and expected outputs."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [as_array(each) for each in inputs], [as_array(each) for each in outputs]
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield read_arrays(folder, "input"), read_arrays(folder, "output")


def as_array(value: Any) -> Any:
    """A tensor as an array, where it is not one already."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def read_arrays(folder: Path, kind: str) -> list[Any]:
    """The tensors of one data set, in order."""
    count = len(list(folder.glob(f"{kind}_*.pb")))
    arrays = []
    for number in range(count):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{number}.pb").read_bytes())
        arrays.append(numpy_helper.to_array(tensor))
    return arrays


def compare(actual: Sequence[Any], expected: Sequence[Any], case: Any) -> str:
    """What is wrong, or nothing; with the tolerances of ONNX's own runner."""
    try:
        Runner.assert_similar_outputs(expected, actual, case.rtol, case.atol)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


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
    for status in ("wrong", "crash", "timeout", "error", "unsupported"):
        for outcome in sorted(outcomes, key=lambda each: each.name):
            if outcome.status == status and (verbose or status != "unsupported"):
                print(f"{status}: {outcome.name}: {outcome.detail.splitlines()[0][:200]}")
    total = len(outcomes)
    for status in STATUSES:
        count = counts[status]
        print(f"{status:16} {count:5}  {100 * count / max(total, 1):5.1f} %")
    print(f"{'total':16} {total:5}")


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
    parser.add_argument("--kind", default="node", help="node, simple, pytorch-operator, ...")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds a test")
    parser.add_argument("--workers", type=int, default=1, help="processes that run tests")
    parser.add_argument("--verbose", action="store_true", help="list unsupported tests too")
    options = parser.parse_args()
    cases = [
        case for case in load_model_tests(kind=options.kind) if re.search(options.match, case.name)
    ]
    outcomes = run_all(cases, options.workers, options.timeout)
    report(outcomes, options.verbose)
    return int(any(outcome.status in ("wrong", "crash") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
