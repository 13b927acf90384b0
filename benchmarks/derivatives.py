"""The derivatives of every call that the tests of operators make, against differences.

    python -m benchmarks.derivatives [--only nn.conv2d] [--derived] [--verbose]

Prints a table of operators: right, without a path of floats, refused (and why), or wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.fuzzing.derivatives import DERIVED, WRITTEN, Finding, Outcome, Value, finding
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Operator
from tests.checked_calls import CALLS

BEST_FIRST = tuple(Outcome)


class Recorder:
    """A plugin that collects calls of operators instead of checking them."""

    def __init__(self, only: str | None) -> None:
        self.calls: dict[str, tuple[Operator, Sequence[Value], Attributes]] = {}
        self._only = only

    def pytest_configure(self, config: pytest.Config) -> None:
        """Ask for the calls."""
        config.stash[CALLS] = self._enter

    def _enter(self, operator: Operator, arrays: Sequence[Any], record: Attributes) -> None:
        if self._only in (None, operator.name):
            shapes = [_shapes(array) for array in arrays]
            self.calls.setdefault(
                f"{operator.name}{shapes}{record}", (operator, tuple(arrays), record)
            )


def _shapes(value: Any) -> object:
    if isinstance(value, tuple):
        return tuple(map(_shapes, value))
    kind = "float" if "float" in value.dtype.name else value.dtype.name
    return value.shape, kind


def main() -> int:
    """Print the table; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="this operator")
    parser.add_argument("--derived", action="store_true", help="without the rules by hand")
    parser.add_argument("--verbose", action="store_true", help="every call that is not right")
    options = parser.parse_args()
    recorder = Recorder(options.only)
    pytest.main(
        ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "tests/op"], [recorder]
    )
    found: dict[str, list[Finding]] = defaultdict(list)
    for key, (operator, arrays, record) in recorder.calls.items():
        result = finding(operator, arrays, record, DERIVED if options.derived else WRITTEN)
        found[operator.name].append(result)
        bad = result.outcome in (Outcome.WRONG, Outcome.REFUSED) or result.second is False
        if options.verbose and bad:
            print(f"{key}: {result.outcome.value}: {result.note}", flush=True)
    return _report(found)


def _report(found: dict[str, list[Finding]]) -> int:
    totals: Counter[str] = Counter()
    for name, results in sorted(found.items()):
        counts = Counter(result.outcome.value for result in results)
        worst = max((result.outcome for result in results), key=_severity)
        totals[worst.value] += 1
        second = [result.second for result in results if result.second is not None]
        totals["second derivatives right"] += bool(second) and all(second)
        notes = {result.note for result in results if result.note}
        calls = ", ".join(f"{count} {what}" for what, count in counts.items())
        twice = f"; second {sum(second)} of {len(second)}" if second else ""
        print(f"{name:38} {calls}{twice}  {' | '.join(sorted(notes))[:160]}")
    print(", ".join(f"{count} {what}" for what, count in totals.items()))
    return 1 if totals[Outcome.WRONG.value] else 0


def _severity(outcome: Outcome) -> int:
    order = (
        Outcome.NO_FORM,
        Outcome.NONE,
        Outcome.CONSTANT,
        Outcome.RIGHT,
        Outcome.REFUSED,
        Outcome.WRONG,
    )
    return order.index(outcome)


if __name__ == "__main__":
    sys.exit(main())
