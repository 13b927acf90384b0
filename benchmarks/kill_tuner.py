"""Kill a tuning process at random moments and look at what it leaves behind.

    python -m benchmarks.kill_tuner [--rounds 30] [--seed 0]

All rounds share one log. The moments lie in the run itself, not in the start of Python before it,
however slow the machine is. After each kill -9: no acknowledged record is missing, no schedule was
measured twice, the log is sound, and no process of the run is left five seconds later.
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

PATIENCE_SECONDS = 5.0

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

tune(build("squeezenet1_1", small=True), log=sys.argv[1], trials=100000, minutes=60, progress=show)
"""


def kill_once(log: Path, seconds: float) -> list[str]:
    """Start a tuner, kill it so many seconds after its run began; the faults that were found."""
    before = _count(log)
    tuner = subprocess.Popen([sys.executable, "-c", SCRIPT, str(log)], stdout=subprocess.PIPE)
    assert tuner.stdout is not None
    tuner.stdout.read(1)
    time.sleep(seconds)
    workers = psutil.Process(tuner.pid).children(recursive=True)
    tuner.send_signal(signal.SIGKILL)
    output, _ = tuner.communicate()
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)
    return _faults(log, before + output.count(b"."), alive)


def _count(log: Path) -> int:
    if not log.exists():
        return 0
    with logs.open_log(log) as opened:
        return sum(record.measurements for record in opened.history())


def _faults(log: Path, acknowledged: int, alive: list[psutil.Process]) -> list[str]:
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
    if repeated:
        faults.append(f"{repeated} schedules were measured again")
    return faults


def main() -> int:
    """Run the rounds; 1 if any fault was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30, help="processes to kill (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "tuning.db"
        for number in range(arguments.rounds):
            seconds = moments.uniform(0.0, 6.0)
            found = kill_once(log, seconds)
            faults += len(found)
            state = "; ".join(found) or "ok"
            print(f"{number + 1}: after {seconds:.2f} s, {_count(log)} records: {state}")
    print(f"{arguments.rounds} kills, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
