"""Gradients of loops: memory and time with the whole tape, and with checkpoints.

    python -m benchmarks.checkpointed_loops [1024 10000 99856] [--rounds 3]

A state of 4,096 floats goes through so many steps. `steps` keeps what every step needs. `segments`
has the square root of the steps in a function that is computed again. `halves` divides them by two
until 16 are left, and computes both halves again. Memory is the growth of the resident memory of a
process that computes the gradient once; it is read from /proc, so this needs Linux.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import relay_tune as rt

PROGRAM = """
def @step(%x: STATE, %w: STATE) -> STATE { tanh(%x * %w + 0.1) }
def @steps(%x: STATE, %w: STATE, %n: int32) -> STATE {
  if (%n == 0) { %x } else { @steps(@step(%x, %w), %w, %n - 1) }
}
def @segments(%x: STATE, %w: STATE, %n: int32, %length: int32) -> STATE {
  if (%n == 0) {
    %x
  } else {
    @segments(checkpoint(@steps)(%x, %w, %length), %w, %n - %length, %length)
  }
}
def @halves(%x: STATE, %w: STATE, %n: int32) -> STATE {
  if (%n < 17) {
    @steps(%x, %w, %n)
  } else {
    let %half = checkpoint(@halves);
    %half(%half(%x, %w, %n / 2), %w, %n - %n / 2)
  }
}
def @loss(%x: STATE, %w: STATE, %n: int32, %length: int32) -> float32 {
  let %y = CALL;
  sum(%y * %y)
}
def @main(%x: STATE, %w: STATE, %n: int32, %length: int32) {
  grad(@loss, wrt=[0, 1])(%x, %w, %n, %length)
}
""".replace("STATE", "Tensor[(1, 4096), float32]")

CALLS = {
    "steps": "@steps(%x, %w, %n)",
    "segments": "@segments(%x, %w, %n, %length)",
    "halves": "@halves(%x, %w, %n)",
}

Run = Callable[[int], Any]


def built(call: str) -> Run:
    """run(steps) -> the value and the gradients; squares have segments of one length."""
    random = np.random.default_rng(0)
    given = [random.normal(size=(1, 4096)).astype("float32") for _ in range(2)]
    model = rt.build(rt.parse(PROGRAM.replace("CALL", call)), threads=1)

    def run(steps: int) -> Any:
        return model(*given, np.int32(steps), np.int32(math.isqrt(steps)))

    run(16)
    return run


def growth(run: Run, steps: int) -> float:
    """The growth of resident memory at its peak, in MB, in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_growth, args=(run, steps, sender))
    process.start()
    found: float = receiver.recv()
    process.join()
    return found


def _send_growth(run: Run, steps: int, sender: Connection) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on
    before = _resident("VmRSS")
    run(steps)
    sender.send(_resident("VmHWM") - before)


def _resident(name: str) -> float:
    """A size of the process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def seconds(forms: Mapping[str, Run], steps: int, rounds: int) -> dict[str, float]:
    """The median time of each form, in turns."""
    found: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, run in forms.items():
            start = time.perf_counter()
            run(steps)
            found[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in found.items()}


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Of two gradients, relative to the largest element if any is not zero."""
    largest = np.abs(wanted).max()
    return float(np.abs(found - wanted).max() / (largest if largest > 0 else 1))


def main() -> int:
    """Measure each number of steps; memory first, of which a process keeps some after a run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", type=int, nargs="*", default=[1024, 10_000, 99_856])
    parser.add_argument("--rounds", type=int, default=3, help="medians of so many (3)")
    options = parser.parse_args()
    forms = {name: built(call) for name, call in CALLS.items()}
    memory = {
        (name, steps): growth(run, steps) for steps in options.steps for name, run in forms.items()
    }
    for steps in options.steps:
        times = seconds(forms, steps, options.rounds)
        value, wanted = forms["steps"](steps)
        for name, run in forms.items():
            again, gradients = run(steps)
            error = max(map(difference, gradients, wanted))
            print(
                f"{steps:7} {name:9} {memory[name, steps]:8.1f} MB {times[name]:7.3f} s   "
                f"value {'equal' if again == value else 'differs'}, gradients within {error:.1e}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
