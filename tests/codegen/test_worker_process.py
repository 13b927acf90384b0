"""Workers die with the process that wanted them."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from relay_tune.codegen.worker_process import kill_worker, start_worker

PARENT = """
import sys
from relay_tune.codegen.worker_process import start_worker
worker = start_worker("{module}", ["{{}}"])
print(worker.pid, flush=True)
worker.stdout.read(1)
"""


def test_killing_is_final_and_repeatable() -> None:
    worker = start_worker("relay_tune.runtime.measuring.worker", ['{"memory_bytes": 1000000}'])
    kill_worker(worker)
    assert worker.wait(10) < 0
    kill_worker(worker)
    worker.communicate()


def test_a_worker_ends_with_its_input() -> None:
    worker = start_worker("relay_tune.runtime.measuring.worker", ['{"memory_bytes": 1000000}'])
    worker.communicate(timeout=30)
    assert worker.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of the dead")
def test_a_worker_does_not_outlive_a_killed_parent() -> None:
    script = PARENT.format(module="relay_tune.runtime.measuring.worker")
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs([worker], timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("relay_tune.codegen.compile_worker", ("numpy", "relay_tune.codegen.kernels")),
        ("relay_tune.runtime.measuring.worker", ("relay_tune.op", "relay_tune.codegen.kernels")),
        ("relay_tune.building.worker", ("relay_tune.codegen.kernels", "relay_tune.op")),
    ],
)
def test_workers_import_what_they_run(module: str, heavy: tuple[str, ...]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert module in run.stdout.split()
    assert not {*heavy} & {*run.stdout.split()}
