"""Campaigns over Relay programs: their text, their answers, and damaged ones.

    python -m benchmarks.fuzz_programs text [--count 2000] [--seed 0]
    python -m benchmarks.fuzz_programs answers [--count 2000] [--seed 0] [--minutes 30]
    python -m benchmarks.fuzz_programs damaged [--count 500] [--seed 0]
    python -m benchmarks.fuzz_programs hostile
    python -m benchmarks.fuzz_programs python [--count 400] [--seed 0]

`text`: every program of the prelude, the zoo, the documentation and the tests, and random programs,
are printed and read again; the program, its hash, its text and its types must be the same.

`answers`: random programs must give in native code what the interpreter gives, twice in a row, as
they are and after each pass of the language. Each runs in a process of its own.

`damaged`: programs with a few changed characters, tokens or lines must be read and typed, or give
an error that says where. Wrong is an exception that is no RelayError, an error without a place,
more than 10 processor seconds, and a program that is not the same after it was printed and read.

`hostile`: texts that are nested 10,000 deep, have enormous numbers or odd characters are read and
typed, and built if they are accepted, or give an error that says where; each in a process of its
own, for a minute at most.

`python`: odd programs in Python, and damaged ones, are translated or refused in the same way.

What is wrong is printed with its seed, from which the program is made again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.fuzzing.apart import run_apart
from benchmarks.fuzzing.damaged_programs import mutated, outcome, programs
from benchmarks.fuzzing.damaged_python import (
    KNOWN_OUTCOMES,
    damaged_python,
    odd_programs,
    python_outcome,
)
from benchmarks.fuzzing.hostile_outcome import hostile_outcome
from benchmarks.fuzzing.hostile_texts import hostile_texts
from benchmarks.fuzzing.program_answers import check_answers
from benchmarks.fuzzing.program_texts import check_random_text, check_text, repository_programs
from benchmarks.interruptible import until_interrupted

TIME_LIMIT = 300.0
"""Seconds for one program with all its passes."""

COUNTS = {"text": 2000, "answers": 2000, "damaged": 500, "hostile": 0, "python": 400}

HOSTILE_LIMIT = 60.0
"""Seconds for a program that asks for too much."""

Finding = tuple[str, list[str]]
"""The name of a program, and what is wrong with it."""


def texts(options: argparse.Namespace) -> Iterator[Finding]:
    """The text of the repository's programs and of random ones."""
    for name, module in repository_programs():
        yield name, list(check_text(module))
    for seed in _seeds(options):
        yield f"seed {seed}", list(check_random_text(seed))


def answers(options: argparse.Namespace) -> Iterator[Finding]:
    """Native answers of random programs, until the time is over."""
    multiprocessing.set_forkserver_preload(["benchmarks.fuzzing.program_answers"])
    end = time.monotonic() + 60 * options.minutes

    def check(seed: int) -> Finding | None:
        if time.monotonic() > end:
            return None
        return f"seed {seed}", run_apart(TIME_LIMIT, check_answers, seed)

    with ThreadPoolExecutor(options.workers) as pool:
        yield from filter(None, pool.map(check, _seeds(options)))


def damaged(options: argparse.Namespace) -> Iterator[Finding]:
    """Damaged programs; the outcomes are counted at the end."""
    texts = list(programs().values())
    outcomes: Counter[str] = Counter()
    for seed in _seeds(options):
        chance = random.Random(seed)
        found = outcome(mutated(chance.choice(texts), texts, chance))
        outcomes[found.partition(":")[0]] += 1
        yield f"seed {seed}", [found] if found.startswith("wrong") else []
    print(", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))


def hostile(options: argparse.Namespace) -> Iterator[Finding]:
    """Texts that ask for too much."""
    multiprocessing.set_forkserver_preload(["benchmarks.fuzzing.hostile_outcome"])
    for name, text in hostile_texts().items():
        yield name, run_apart(HOSTILE_LIMIT, hostile_outcome, text)


def python(options: argparse.Namespace) -> Iterator[Finding]:
    """Odd and damaged programs in Python; the outcomes are counted at the end."""
    multiprocessing.set_forkserver_preload(["benchmarks.fuzzing.damaged_python"])
    programs = odd_programs() | {f"seed {seed}": damaged_python(seed) for seed in _seeds(options)}
    outcomes: Counter[str] = Counter()
    for name, text in programs.items():
        found = run_apart(HOSTILE_LIMIT, python_outcome, text)
        is_wrong = found[0].startswith("wrong") or found[0] not in KNOWN_OUTCOMES
        outcomes["wrong" if is_wrong else found[0]] += 1
        yield name, found if is_wrong else []
    print(", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))


CAMPAIGNS = {
    "text": texts,
    "answers": answers,
    "damaged": damaged,
    "hostile": hostile,
    "python": python,
}


def _seeds(options: argparse.Namespace) -> range:
    count = COUNTS[options.campaign] if options.count is None else options.count
    return range(options.seed, options.seed + count)


def main() -> int:
    """Runs a campaign; 1 if something was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--count", type=int, help="random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=30.0, help="most time for `answers`")
    parser.add_argument("--workers", type=int, default=1, help="programs at a time, of `answers`")
    options = parser.parse_args()
    checked = wrong = 0
    with until_interrupted():
        for name, lines in CAMPAIGNS[options.campaign](options):
            checked += 1
            wrong += bool(lines)
            for line in lines:
                print(f"{name}: {line}", flush=True)
    print(f"{checked} programs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
