"""What calls and objects cost in native programs: time for each iteration, and memory.

    python -m benchmarks.language_runtime

The arithmetic is a square and a sum, which no compiler can do for several iterations at once.
Recursive functions of scalars: nanoseconds for each iteration, the median of several runs. A loop
that allocates tensors and list cells: nanoseconds for each of a million iterations, and by how much
the memory of the process grew from the end of the first thousand to the end of all.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Mapping
from statistics import median
from time import perf_counter

import numpy as np

import relay_tune as rt

ITERATIONS, RUNS = 1_000_000, 7

CALLS: Mapping[str, str] = {
    "tail call, 2 scalars": """
def @loop(%n: int32, %sum: int32) -> int32 {
  if (%n < 1) { %sum } else { @loop(%n - 1, %sum * %sum + %n) }
}
def @main(%n: int32) { @loop(%n, 0) }
""",
    "tail call, 9 scalars": """
def @loop(%n: int32, %a: int32, %b: int32, %c: int32, %d: int32, %e: int32, %f: int32, %g: int32,
          %h: int32) -> int32 {
  if (%n < 1) { %a + %b + %c + %d + %e + %f + %g + %h } else {
    @loop(%n - 1, %b * %c + %n, %c, %d, %e, %f, %g, %h, %a)
  }
}
def @main(%n: int32) { @loop(%n, 1, 2, 3, 4, 5, 6, 7, 8) }
""",
    "call that is not last": """
def @count(%n: int32) -> int32 { if (%n < 1) { 0 } else { let %x = @count(%n - 1); %x * %x + %n } }
def @main(%n: int32) { @count(%n) }
""",
    "two functions in turn": """
def @even(%n: int32, %sum: int32) -> int32 {
  if (%n < 1) { %sum } else { @odd(%n - 1, %sum * %sum + %n) }
}
def @odd(%n: int32, %sum: int32) -> int32 {
  if (%n < 1) { -%sum } else { @even(%n - 1, %sum * %sum - %n) }
}
def @main(%n: int32) { @even(%n, 0) }
""",
    "closure that is a value": """
def @loop(%n: int32, %step: fn (int32) -> int32, %sum: int32) -> int32 {
  if (%n < 1) { %sum } else { @loop(%n - 1, %step, %step(%sum)) }
}
def @main(%n: int32) {
  let %plus = fn (%x: int32) { %x * %x + %n };
  let %minus = fn (%x: int32) { %x * %x - %n };
  let %add = if (%n < 5) { %plus } else { %minus };
  @loop(%n, %add, 0)
}
""",
}

ALLOCATING = """
type List[A] { Cons(A, List[A]), Nil, }
def @loop(%n: int32, %x: Tensor[(64), float32], %l: List[Tensor[(64), float32]])
    -> Tensor[(64), float32] {
  if (%n < 1) { %x } else {
    let %y = tanh(%x + 1f);
    let %next = match (%l) {
      Cons(%a, Cons(%b, _)) => { Cons(%y, Cons(%a + %b, Nil)) },
      _ => { Cons(%y, Cons(%y, Nil)) },
    };
    @loop(%n - 1, %y, %next)
  }
}
def @main(%n: int32, %x: Tensor[(64), float32]) { @loop(%n, %x, Nil) }
"""


def call_nanoseconds(text: str) -> float:
    """The median time of an iteration of a program that makes as many as its input says."""
    model = rt.build(rt.parse(text), threads=1)
    model(1000)
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        model(ITERATIONS)
        times.append(perf_counter() - start)
    return 1e9 * median(times) / ITERATIONS


def allocating_loop() -> tuple[float, int]:
    """Nanoseconds for each of a million iterations, and by how many KiB memory grew."""
    model = rt.build(rt.parse(ALLOCATING), threads=1)
    x = np.zeros(64, np.float32)
    model(1000, x)
    before = resident_kilobytes()
    start = perf_counter()
    model(ITERATIONS, x)
    return 1e9 * (perf_counter() - start) / ITERATIONS, resident_kilobytes() - before


def resident_kilobytes() -> int:
    """The most memory that this process has had, in KiB (on Linux)."""
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print a line for each program."""
    time, growth = allocating_loop()
    print(f"{'tensors and list cells':<24} {time:8.1f} ns an iteration, memory +{growth} KiB")
    for name, text in CALLS.items():
        print(f"{name:<24} {call_nanoseconds(text):8.1f} ns an iteration")


if __name__ == "__main__":
    main()
