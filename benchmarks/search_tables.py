"""Measures random schedules of six tasks on this machine and keeps them as search tables.

    python -m benchmarks.search_tables measure [--rows 1500] [--folder tables] [--match conv]
    python -m benchmarks.search_quality tables/*.json
    python -m benchmarks.search_tables describe tables/*.json

`describe` computes the features of measured tables anew, for a version that describes schedules
otherwise; nothing is measured.

The tasks: convolutions 3x3 and 1x1, a depthwise one, two matrix products, a softmax. Each table has
`rows` different schedules drawn uniformly from the task's whole space, each measured once on one
thread, in random order. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from relay_tune.codegen.target import Target, native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.feature_names import FEATURE_NAMES
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.tasks import Task, extract_tasks
from search import Genome, SearchError, SearchTable, Space, load_table, save_table
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
    """Measure and write the tables, or describe them anew."""
    parser = argparse.ArgumentParser(description="Makes search tables of measured schedules.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    measured = verbs.add_parser("measure", help="measure schedules and write tables")
    measured.add_argument("--rows", type=int, default=1500)
    measured.add_argument("--folder", type=Path, default=Path("tables"))
    measured.add_argument("--match", default="", help="part of the names of the tasks wanted")
    measured.add_argument("--seed", type=int, default=0)
    described = verbs.add_parser("describe", help="compute the features of tables anew")
    described.add_argument("tables", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "describe":
        describe(arguments.tables)
    else:
        measure(arguments.folder, arguments.match, arguments.rows, arguments.seed)


def measure(folder: Path, match: str, rows: int, seed: int) -> None:
    """Measure and write the tables of the tasks whose names contain `match`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = native_target()
    runner = NativeRunner(target, 1, seed)
    try:
        for name in NETWORKS:
            if match in name:
                table = measured_table(name, runner, target, rows, seed)
                save_table(table, folder / f"{name}.json")
    finally:
        runner.close()


def describe(paths: Sequence[Path]) -> None:
    """Rewrite tables with the choices and features that this version has for their schedules.

    Rows that this version has no genome for are dropped. SearchError for a table of another task.
    """
    machine = machine_of(native_target())
    for path in paths:
        table = load_table(path)
        if table.task not in NETWORKS:
            raise SearchError(f"{path} is a table of {table.task!r}, none of: {list(NETWORKS)}")
        space = ProgramSpace(largest_task(table.task, 0).plan, machine, 1)
        choices = Space(table.choices)
        rows: dict[Genome, TableRow] = {}
        for row in table.rows:
            genome = converted(choices, row.genome, space.space)
            if genome is not None:
                features = tuple(space.features(space.schedule(genome)))
                rows.setdefault(genome, TableRow(genome, features, row.seconds))
        print(f"{path}: {len(rows)} of {len(table.rows)} rows")
        save_table(
            SearchTable(table.task, space.space.choices, tuple(rows.values()), FEATURE_NAMES), path
        )


def converted(source: Space, genome: Genome, wanted: Space) -> Genome | None:
    """The genome that means the same in another space, or None if that has no such genome.

    Choices mean the same where their names and values do; those that the genome lacks are idle.
    """
    counting = {source.choices[place].name: place for place in source.active(genome)}
    missing = counting.keys() - {choice.name for choice in wanted.choices}
    genes: list[int] = []
    for choice in wanted.choices:
        place = counting.get(choice.name)
        if place is None:
            genes.append(choice.idle)
            continue
        value = source.choices[place].values[genome[place]]
        if value not in choice.values:
            return None
        genes.append(choice.values.index(value))
    found = wanted.normal(tuple(genes))
    return found if not missing and wanted.valid(found) else None


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
        drafts = [runner.draft(task, space.schedule(genome)) for genome in batch]
        prepared = list(runner.prepare(task, drafts, None))
        for genome, item in zip(batch, prepared, strict=True):
            seconds = runner.measure(task, item, None).seconds
            found.append(TableRow(genome, tuple(space.features(item.schedule)), seconds))
    elapsed = time.perf_counter() - start
    times = sorted(row.seconds for row in found if row.seconds is not None)
    rate, best, middle = len(found) / elapsed, times[0] * 1e6, times[len(times) // 2] * 1e6
    print(f"{name}: {len(found)} schedules of {space.space.size}, {rate:.1f} a second", flush=True)
    print(f"  best {best:.1f} us, median {middle:.1f} us", flush=True)
    return SearchTable(name, space.space.choices, tuple(found), FEATURE_NAMES)


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
