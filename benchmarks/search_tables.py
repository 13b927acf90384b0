"""Measures random schedules of six tasks on this machine and keeps them as search tables.

    python -m benchmarks.search_tables [--rows 1500] [--folder tables] [--match conv] [--seed 0]
    python -m benchmarks.search_quality tables/*.json

The tasks: convolutions 3x3 and 1x1, a depthwise one, two matrix products, a softmax. Each table has
`rows` different schedules drawn uniformly from the task's whole space, each measured once on one
thread, in random order. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np

from relay_tune.codegen.target import Target, native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType
from relay_tune.runtime.target_machine import machine_of
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.tasks import Task, extract_tasks
from search import Genome, SearchTable, save_table
from search.table import TableRow

BATCH = 24

NETWORKS = {
    "conv3x3_128x28": """def @main(%x: Tensor[(1, 28, 28, 128), float32],
        %w: Tensor[(3, 3, 128, 128), float32]) {
      nn.relu(nn.conv2d(%x, %w, padding=(1, 1), channels=128, kernel_size=(3, 3),
        data_layout="NHWC", kernel_layout="HWIO"))
    }""",
    "conv1x1_256x56": """def @main(%x: Tensor[(1, 56, 56, 64), float32],
        %w: Tensor[(1, 1, 64, 256), float32]) {
      nn.relu(nn.conv2d(%x, %w, channels=256, kernel_size=(1, 1), data_layout="NHWC",
        kernel_layout="HWIO"))
    }""",
    "depthwise_144x56": """def @main(%x: Tensor[(1, 58, 58, 144), float32],
        %w: Tensor[(3, 3, 1, 144), float32]) {
      nn.relu(nn.conv2d(%x, %w, groups=144, channels=144, kernel_size=(3, 3),
        data_layout="NHWC", kernel_layout="HWIO"))
    }""",
    "matmul_512": """def @main(%x: Tensor[(512, 512), float32],
        %w: Tensor[(512, 512), float32]) { nn.dense(%x, %w) }""",
    "matmul_128x768x3072": """def @main(%x: Tensor[(128, 768), float32],
        %w: Tensor[(3072, 768), float32]) { nn.dense(%x, %w) }""",
    "softmax_1536x128": """def @main(%x: Tensor[(1536, 128), float32]) {
      nn.softmax(%x) }""",
}


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--folder", type=Path, default=Path("tables"))
    parser.add_argument("--match", default="")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    target = native_target()
    runner = NativeRunner(target, 1, arguments.seed)
    try:
        for name in NETWORKS:
            if arguments.match in name:
                table = measured_table(name, runner, target, arguments.rows, arguments.seed)
                save_table(table, arguments.folder / f"{name}.json")
    finally:
        runner.close()


def measured_table(
    name: str, runner: NativeRunner, target: Target, rows: int, seed: int
) -> SearchTable:
    """The table of a network's largest task."""
    task = largest_task(name, seed)
    space = ProgramSpace(task.plan, machine_of(target), 1)
    generator = random.Random(seed)
    genomes = different_genomes(space, rows, generator)
    start = time.perf_counter()
    found: list[TableRow] = []
    for first in range(0, len(genomes), BATCH):
        batch = genomes[first : first + BATCH]
        prepared = runner.prepare(task, [space.schedule(genome) for genome in batch])
        for genome, item in zip(batch, prepared, strict=True):
            seconds = runner.measure(task, item, None).seconds
            found.append(TableRow(genome, tuple(space.features(item.schedule)), seconds))
    elapsed = time.perf_counter() - start
    times = sorted(row.seconds for row in found if row.seconds is not None)
    rate, best, middle = len(found) / elapsed, times[0] * 1e6, times[len(times) // 2] * 1e6
    print(f"{name}: {len(found)} schedules of {space.space.size}, {rate:.1f} a second", flush=True)
    print(f"  best {best:.1f} us, median {middle:.1f} us", flush=True)
    return SearchTable(name, space.space.choices, tuple(found))


def different_genomes(space: ProgramSpace, count: int, generator: random.Random) -> list[Genome]:
    """Random genomes that stand for different schedules, fewer if the space has not so many."""
    genomes: dict[object, Genome] = {}
    for _ in range(50 * count):
        genome = space.space.random(generator)
        genomes.setdefault(space.schedule(genome).to_json(), genome)
        if len(genomes) == count:
            break
    return list(genomes.values())


def largest_task(name: str, seed: int) -> Task:
    """The task with the most arithmetic of a network, its weights bound to random constants."""
    module = parse(NETWORKS[name])
    values = {var.name: _weight(var, seed) for var in module.main.params if var.name == "w"}
    fused = default_pipeline()(BindParameters(values)(module))
    return extract_tasks(fused)[0]


def _weight(var: Var, seed: int) -> np.ndarray:
    assert isinstance(var.annotation, TensorType)
    shape = tuple(int(str(dim)) for dim in var.annotation.shape)
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


if __name__ == "__main__":
    main()
