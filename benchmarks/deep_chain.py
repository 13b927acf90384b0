"""Long programs: processor seconds and memory of each stage from text to fused kernels.

    python -m benchmarks.deep_chain [20000 100000]

The program is a chain of calls, each of which reads the one before; all stages must be linear.
Each length runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable
from time import process_time
from typing import TypeVar

from relay_tune.building.program_form import program_kernels
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.transform.instruments import Timing
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.typing.infer import infer_types

T = TypeVar("T")

CALLS = (
    "add(%{0}, %x)",
    "exp(%{0})",
    "multiply(%{0}, %{1})",
    "tanh(%{0})",
    "nn.softmax(%{0})",
    "maximum(%{0}, %{1})",
)


def chain(length: int) -> str:
    """The Relay text of a program of so many calls."""
    lines = ["%0 = nn.relu(%x);"]
    for number in range(1, length):
        call = CALLS[number % len(CALLS)].format(number - 1, max(0, number - 2))
        lines.append(f"%{number} = {call};")
    body = "\n".join([*lines, f"%{length - 1}"])
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 8), float32]) {{\n{body}\n}}'


def timed(title: str, work: Callable[[], T]) -> T:
    """The result of some work, whose processor seconds are printed."""
    start = process_time()
    result = work()
    print(f"  {title:14} {process_time() - start:8.2f} s", flush=True)
    return result


def measure(length: int, by_pass: bool) -> None:
    """Print the seconds of each stage, and the peak of memory."""
    print(f"{length} calls", flush=True)
    text = chain(length)
    timing = Timing()
    pipeline = default_pipeline().observed_by(timing)
    start = process_time()
    module = timed("parse", lambda: parse(text))
    typed = timed("infer", lambda: infer_types(module))
    fused = timed("pipeline", lambda: pipeline(typed))
    for name, seconds in timing.seconds if by_pass else ():
        print(f"    {name:32} {seconds:8.2f} s")
    program = timed("lowering", lambda: lower_program(fused))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {'all':14} {process_time() - start:8.2f} s", flush=True)
    print(f"  {peak:.0f} MB, {len(list(program_kernels(program)))} kernels")


def main() -> int:
    """Measure each length in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lengths", type=int, nargs="*", default=[20_000, 100_000])
    parser.add_argument("--passes", action="store_true", help="the seconds of each pass, too")
    options = parser.parse_args()
    if len(options.lengths) == 1:
        measure(options.lengths[0], options.passes)
        return 0
    passes = ["--passes"] if options.passes else []
    for length in options.lengths:
        command = [sys.executable, "-m", "benchmarks.deep_chain", str(length), *passes]
        subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
