"""Kill a tuning process at random moments and look at what it leaves behind.

    python -m benchmarks.kill_tuner [--rounds 60] [--seed 0] [--threads 2] [--busy 8]

All rounds share one log; `--busy` processes run beside. The moments lie in the run itself, not in
the start of Python before it, however slow the machine is. The first process gets kill -9, the
second SIGTERM; of the third a worker is killed, as by a system without memory, and some seconds
later it gets SIGTERM, too. After each: no acknowledged record is missing, no schedule was measured
twice, the log is sound, no candidate is called a crash or not compiled (all of them are good), no
process of the run is left five seconds later, and one that got SIGTERM has ended by it within ten
seconds and holds no claims.
In the end a run that is left alone goes on.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

import logs
from benchmarks.busy import busy_processes
from benchmarks.interruptible import until_interrupted

PATIENCE_SECONDS = 5.0

MOST_SECONDS = 120.0
"""No round takes so long."""

END_SECONDS = 10.0
"""How long a process may take to end after SIGTERM."""

WORKER_SECONDS = 4.0
"""How long a run goes on after one of its workers was killed."""

SCRIPT = """
import os, sys
from relay_tune.tuning.events import Measured, RunStarted
from relay_tune.tuning.tune import tune
from relay_tune.zoo.catalogue import build

def show(event):
    if isinstance(event, RunStarted):
        os.write(1, b"!")
    if isinstance(event, Measured):
        os.write(1, b".")

module = build("squeezenet1_1", small=True)
trials, threads = map(int, sys.argv[2:])
tune(module, log=sys.argv[1], trials=trials, minutes=60, threads=threads, progress=show)
"""


def started(log: Path, trials: int, threads: int) -> subprocess.Popen[bytes]:
    """A tuner that is to measure so many candidates in all, when its run has begun."""
    words = [sys.executable, "-c", SCRIPT, str(log), str(trials), str(threads)]
    tuner = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert tuner.stdout is not None
    tuner.stdout.read(1)
    return tuner


def kill_once(
    log: Path,
    seconds: float,
    number: signal.Signals,
    threads: int,
    moments: random.Random | None = None,
) -> list[str]:
    """Start a tuner, kill it so many seconds after its run began; the faults that were found.

    `moments` chooses a worker that is killed before.
    """
    before = _count(log)
    tuner = started(log, 100_000, threads)
    try:
        time.sleep(seconds)
        if moments is not None:
            _kill_worker(tuner.pid, moments)
            time.sleep(WORKER_SECONDS)
    except KeyboardInterrupt:
        tuner.kill()
        raise
    workers = psutil.Process(tuner.pid).children(recursive=True)
    tuner.send_signal(number)
    begin = time.monotonic()
    output, _ = tuner.communicate()
    took = time.monotonic() - begin
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)
    faults = _faults(log, before + output.count(b"."), alive)
    if tuner.returncode != -number:
        faults.append(f"it ended with {tuner.returncode} after {number.name}")
    if number is signal.SIGTERM and took > END_SECONDS:
        faults.append(f"it took {took:.1f} s to end")
    if number is signal.SIGTERM and log.exists():
        faults += _claims_of(log, tuner.pid)
    return faults


def _kill_worker(pid: int, moments: random.Random) -> None:
    """Kill one of the workers of a tuner, if it has any by now."""
    workers = psutil.Process(pid).children()
    if workers:
        moments.choice(workers).kill()


def go_on(log: Path, further: int, threads: int) -> list[str]:
    """Let a run measure so many more candidates; the faults that were found."""
    wanted = _count(log) + further
    tuner = started(log, wanted, threads)
    output, _ = tuner.communicate()
    faults = _faults(log, wanted, [], repeats=True)
    if tuner.returncode != 0 or output.count(b".") != further:
        faults.append(f"the last run ended with {tuner.returncode} after {output.count(b'.')}")
    return faults


def _claims_of(log: Path, pid: int) -> list[str]:
    with logs.open_log(log) as opened:
        left = [claim for claim in opened.claims() if claim.process.pid == pid]
    return [f"{len(left)} claims are left"] if left else []


def _count(log: Path) -> int:
    if not log.exists():
        return 0
    with logs.open_log(log) as opened:
        return len(list(opened.history()))


def _faults(
    log: Path, acknowledged: int, alive: list[psutil.Process], *, repeats: bool = False
) -> list[str]:
    """What is wrong; `repeats` where winners may have been measured again, as a run ends with."""
    faults = [f"process {process.pid} is still there" for process in alive]
    if not log.exists():
        return faults
    with logs.open_log(log) as opened:
        records = list(opened.history())
        if not opened.check().ok:
            faults.append("the log is damaged")
    if len(records) < acknowledged:
        faults.append(f"{acknowledged - len(records)} acknowledged records are lost")
    repeated = sum(record.measurements > 1 for record in records)
    if repeated and not repeats:
        faults.append(f"{repeated} schedules were measured again")
    for status in (logs.Status.CRASH, logs.Status.COMPILE_ERROR, logs.Status.MEMORY):
        blamed = sum(record.status is status for record in records)
        if blamed:
            faults.append(f"{blamed} good schedules are called {status.value}")
    return faults


def main() -> int:
    """Run the rounds; 1 if any fault was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60, help="processes to kill (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    parser.add_argument("--threads", type=int, default=2, help="of the kernels (default: 2)")
    parser.add_argument("--busy", type=int, default=0, help="processes beside (default: 0)")
    arguments = parser.parse_args()
    moments, threads = random.Random(arguments.seed), arguments.threads
    faults = done = 0
    others = busy_processes(arguments.busy, MOST_SECONDS * arguments.rounds)
    with until_interrupted(), tempfile.TemporaryDirectory() as folder, others:
        log = Path(folder) / "tuning.db"
        for number in range(arguments.rounds):
            seconds = moments.uniform(0.0, 6.0)
            kind = (signal.SIGKILL, signal.SIGTERM, signal.SIGTERM)[number % 3]
            spares_workers = number % 3 < 2
            found = kill_once(log, seconds, kind, threads, None if spares_workers else moments)
            faults, done = faults + len(found), number + 1
            state = "; ".join(found) or "ok"
            name = kind.name if spares_workers else "kill of a worker"
            text = f"{name} after {seconds:.2f} s, {_count(log)} records: {state}"
            print(f"{done}: {text}", flush=True)
        found = go_on(log, 8, threads)
        print(f"a run that is left alone: {'; '.join(found) or 'ok'}")
        faults += len(found)
    print(f"{done} kills, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
