"""Training steps with a limit of memory beside the same steps without one.

    python -m benchmarks.memory_limits [NAME ...] [--threads 1 2] [--part 3] [--folder FOLDER]

The limit is a part, a third if no other is given, of what the step without a limit has between its
kernels. Printed are medians in milliseconds of both, which take turns, the ratio, the number of
slices of the batch, and in megabytes: the memory between kernels without a limit, the limit, the
memory between kernels with it, and by how much the resident memory of fresh processes grew in steps
without and with it (`benchmarks/exported_steps.py`).

Steps are exported to libraries first. They stay in a folder that is given, and are not built again;
`--build` does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import relay_tune as rt
from benchmarks.compare import table_line
from benchmarks.exported_steps import ExportedStep, described, export
from benchmarks.interleave import interleaved_medians
from benchmarks.training_networks import Gated, UNet, VisionTransformer
from benchmarks.training_steps import TASKS, Task, batches_of, exported, names_of
from relay_tune.errors import MemoryLimitError

ROUNDS = 11
CASES = {
    **TASKS,
    "unet": Task(UNet, (8, 3, 64, 64), 4, rt.training.SGD(0.01), torch.optim.SGD),
    "gru": Task(Gated, (40, 16, 256), 32, rt.training.Adam(1e-3), torch.optim.Adam),
    "vit": Task(VisionTransformer, (16, 3, 32, 32), 10, rt.training.AdamW(1e-3), torch.optim.AdamW),
}
TITLES = ["step", "threads", "whole ms", "limited ms", "ratio", "slices"] + [
    "whole MB",
    "limit",
    "limited",
    "whole grows",
    "limited grows",
]


def _step(
    name: str, threads: int, limit: int | None
) -> tuple[rt.training.TrainingStep, dict[str, Any]]:
    """The step of a case, and a batch."""
    task = CASES[name]
    torch.manual_seed(0)
    network = task.network().train()
    shape = tuple(network(torch.zeros(task.shape)).shape)
    ((inputs, targets),) = islice(batches_of(task, shape), 1)
    step = rt.training.step(
        rt.from_onnx(exported(network, inputs)),
        optimiser=task.ours,
        threads=threads,
        parameters=names_of(network),
        memory_limit=limit,
    )
    arrays = (inputs.numpy(), targets.numpy())
    return step, dict(zip(step.program.batch, arrays, strict=True))


def exported_pair(name: str, threads: int, part: float, folder: Path) -> tuple[Path, Path, int]:
    """The step without and with a limit, which are built unless they are there, and the limit.

    MemoryLimitError where there is no step with it.
    """
    whole = folder / f"{name}_{threads}_whole"
    limited = folder / f"{name}_{threads}_{part:g}"
    if not whole.with_suffix(".json").exists():
        export(*_step(name, threads, None), whole)
    limit = int(described(whole).memory / part)
    if not limited.with_suffix(".json").exists():
        export(*_step(name, threads, limit), limited)
    return whole, limited, limit


def _growth(path: Path) -> int:
    command = [sys.executable, "-m", "benchmarks.exported_steps", str(path)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def cells(name: str, threads: int, part: float, folder: Path) -> list[str]:
    """One line of the table."""
    try:
        whole, limited, limit = exported_pair(name, threads, part, folder)
    except MemoryLimitError as error:
        return [name, str(threads), str(error.message)]
    runs = {path: ExportedStep.loaded(path) for path in (whole, limited)}
    seconds = interleaved_medians(runs, rounds=ROUNDS)
    about = described(limited)
    sizes = [described(whole).memory, limit, about.memory, _growth(whole), _growth(limited)]
    return [
        name,
        str(threads),
        *(f"{seconds[path] * 1e3:.2f}" for path in (whole, limited)),
        f"{seconds[limited] / seconds[whole]:.2f}",
        str(about.slices),
        *(f"{size / 1e6:.2f}" for size in sizes),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(CASES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--part", type=float, default=3, help="by which the memory is divided")
    parser.add_argument("--folder", type=Path, help="in which libraries stay")
    parser.add_argument("--build", action="store_true", help="libraries alone")
    options = parser.parse_args()
    print(table_line(TITLES), table_line(["---"] * len(TITLES)), sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for threads in options.threads:
            for name in options.names:
                if options.build:
                    exported_pair(name, threads, options.part, folder)
                else:
                    print(table_line(cells(name, threads, options.part, folder)), flush=True)


if __name__ == "__main__":
    main()
