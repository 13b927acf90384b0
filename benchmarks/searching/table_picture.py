"""Draws how near the best row of each table the strategies come, trial by trial.

    python -m benchmarks.searching.table_picture tables/*.json -o search_tables.svg [--seeds 20]

One panel a table: the time of the best row so far, the table's best as 1, the geometric mean over
the seeds, against the number of trials. Replayed as in `quality`, so without noise. Needs
matplotlib, which the extra `bench` brings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.searching.quality import Replay, Strategy, read_table
from search import SearchTable

TRIALS = 128
COLUMNS = 5
PANEL_INCHES = (3.0, 2.6)
WORST = 0.01
"""Share of the best that a run has before anything ran correctly."""

HIGHEST = 2.0
"""Times of the best above are not shown."""


def draw(tables: Sequence[SearchTable], path: Path, seeds: int) -> None:
    """Write the picture of all tables."""
    rows = -(-len(tables) // COLUMNS)
    width, height = PANEL_INCHES
    columns = min(COLUMNS, len(tables))
    figure = Figure(figsize=(width * columns, height * rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for panel, table in zip(panels.flat, tables, strict=False):
        _draw_table(panel, table, seeds)
    for panel in panels.flat[len(tables) :]:
        panel.remove()
    panels[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def _draw_table(panel: Axes, table: SearchTable, seeds: int) -> None:
    replay = Replay(table)
    for label, strategy, colour in (
        ("with cost model", replay.with_model, "tab:blue"),
        ("genetic, no model", replay.genetic, "tab:orange"),
        ("random", replay.random, "tab:grey"),
    ):
        times = mean_times(strategy, seeds)
        panel.step(range(1, TRIALS + 1), times, where="post", label=label, color=colour)
    panel.set_title(table.task, fontsize="small")
    panel.set_xscale("log", base=2)
    panel.set_xlabel("trials")
    panel.set_ylim(1.0, HIGHEST)


def mean_times(strategy: Strategy, seeds: int) -> list[float]:
    """The best time so far after each trial, in times of the table's best; mean over seeds."""
    logarithms = [np.log(list(_best_so_far(strategy(seed)))) for seed in range(seeds)]
    return [float(time) for time in np.exp(-np.mean(logarithms, axis=0))]


def _best_so_far(trials: Iterator[float | None]) -> Iterator[float]:
    """The best share after each of `TRIALS` trials, of a run that may be shorter."""
    best = WORST
    values = list(islice(trials, TRIALS))
    for value in [*values, *[None] * (TRIALS - len(values))]:
        best = max(best, value or 0.0)
        yield best


def main() -> None:
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description="Draws replays of search strategies on tables.")
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path, default=Path("search_tables.svg"))
    options = parser.parse_args()
    draw([read_table(path) for path in options.tables], options.output, options.seeds)


if __name__ == "__main__":
    main()
