"""Damaged and hostile tuning logs, through all verbs that read a log.

    python -m benchmarks.fuzz_logs [--count 400] [--seed 0]

A good log of a small kernel is changed: bytes and lengths of the file, values of rows with digests
that agree, rows that are lost, limits of no machine, schedules and descriptions that are none. Each
log is listed, checked, exported, merged, shown as a page, used for a build whose result is compared
with numpy, and some are profiled, compared and tuned with. A verb may fail with one message; an
exception, a second message, JSON that no other program reads, a page that has a stranger's text as
it is, a sound copy of a log that is none, or a wrong result is a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import relay_tune as rt
from benchmarks.fuzzing.hostile_logs import KINDS, MARKUP
from benchmarks.interruptible import until_interrupted
from relay_tune.cli.exit_codes import INTERRUPTED, TERMINATED
from relay_tune.cli.main import main as tune

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""

Words = tuple[object, ...]


def good_log(model: Path, log: Path) -> None:
    """A log of a few measurements of the model."""
    words = ("run", model, "--trials", 6, "--threads", 1, "--log", log, "-o", log.parent / "m.so")
    code, _, error = called(*words)
    if code:
        raise SystemExit(f"the log cannot be made: {error}")


def called(*words: object) -> tuple[int, str, str]:
    """The exit code, output and errors of the command; a traceback counts as exit code 99."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = tune([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:  # noqa: BLE001  (that is what is looked for)
            code = 99
            traceback.print_exc()
    if code in (INTERRUPTED, TERMINATED):
        raise KeyboardInterrupt
    return code, _text(out), _text(error)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def faults(model: Path, log: Path, number: int, *, often: bool) -> Iterator[str]:
    """What is wrong when the verbs meet a log; the slow ones only where they are tried `often`."""
    folder = log.parent
    page, library = folder / f"p{number}.html", folder / f"m{number}.so"
    options = ("--log", log, "--threads", 1)
    for verb in ("list", "best", "check"):
        yield from _checked("log", verb, log)
        yield from _checked("log", verb, log, "--json")
    yield from _copies(log, folder, number)
    yield from _checked("report", log, "-o", page)
    if page.exists() and not _is_page(page.read_text(encoding="utf-8")):
        yield "the page is not whole, or runs what a stranger wrote"
    yield from _checked("build", model, *options, "-o", library)
    if library.exists() and not _is_right(library):
        yield "the library that was built is wrong"
    if often:
        yield from _checked("build", model, *options, "-o", library, "--require-tuned", "--json")
        yield from _checked("profile", model, *options, "--json")
        yield from _checked("bench", model, *options, "--repeat", 1, "--json")
        yield from _checked("run", model, *options, "--trials", 2, "-o", folder / f"t{number}.so")


def _copies(log: Path, folder: Path, number: int) -> Iterator[str]:
    """Faults of exporting, importing and merging; what these write has to be sound."""
    lines, read, merged = (folder / f"{name}{number}.x" for name in ("lines", "read", "merged"))
    yield from _checked("log", "export", log, lines)
    if lines.exists():
        yield from _checked("log", "import", read, lines)
    yield from _checked("log", "merge", merged, log)
    for copy in (read, merged):
        if copy.exists() and called("log", "check", copy)[0]:
            yield f"{copy.name} is a damaged copy: {called('log', 'check', copy)}"


def _checked(*words: object) -> Iterator[str]:
    """What is wrong with how a verb ends."""
    code, out, error = called(*words)
    messages = error.count("tune: error:")
    damaged = words[:2] == ("log", "check") and code == 1
    if code not in (0, 1) or messages > code or "Traceback" in error:
        yield f"{_line(words)}: exit code {code}: {error.strip()[-600:]}"
    elif code == 1 and not messages and not damaged:
        yield f"{_line(words)}: it fails without a message"
    if "--json" in words and out.strip() and not _is_json(out):
        yield f"{_line(words)}: no JSON: {out.strip()[-200:]}"


def _line(words: Words) -> str:
    return " ".join(str(word) for word in words)


def _is_json(text: str) -> bool:
    strange: list[str] = []  # NaN and Infinity are no JSON
    try:
        json.loads(text, parse_constant=strange.append)
    except ValueError:
        return False
    return not strange


def _is_page(text: str) -> bool:
    return text.rstrip().endswith("</html>") and MARKUP not in text


def _is_right(library: Path) -> bool:
    random_ = np.random.default_rng(0)
    x = random_.standard_normal((4, 8)).astype(np.float32)
    w = random_.standard_normal((16, 8)).astype(np.float32)
    result = rt.load(str(library))(x, w)
    return bool(np.allclose(np.asarray(result), np.maximum(x @ w.T, 0), atol=1e-4))


def main() -> int:
    """Run a campaign; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400, help="logs (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args()
    bad: Counter[str] = Counter()
    done = 0
    with until_interrupted(), tempfile.TemporaryDirectory() as folder:
        model, good = Path(folder) / "small.relay", Path(folder) / "good.db"
        model.write_text(TEXT)
        good_log(model, good)
        for number in range(options.seed, options.seed + options.count):
            chance = random.Random(number)
            kind = chance.choice(list(KINDS))
            log = Path(folder) / f"{number}.db"
            shutil.copy(good, log)
            KINDS[kind](log, chance)
            for fault in faults(model, log, number, often=number % 8 == 0):
                bad[kind] += 1
                print(f"{number} ({kind}): {fault}", flush=True)
            for file in Path(folder).glob(f"*{number}.*"):
                file.unlink()
            done += 1
    print(f"{done} logs, {sum(bad.values())} faults {dict(bad) or ''}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
