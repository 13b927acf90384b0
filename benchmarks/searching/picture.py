"""Draws the curves of `benchmarks.searching.curves`: one panel a network, one line a strategy.

    python -m benchmarks.searching.picture curves/*.json -o curves.svg

Needs matplotlib, which the extra `bench` brings.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.searching.curves import Curve, read_curve

LABELS = {"model": "with cost model", "genetic": "genetic, no model", "random": "random"}
COLOURS = {"model": "tab:blue", "genetic": "tab:orange", "random": "tab:grey"}
PANEL_INCHES = (4.5, 3.2)


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Write the picture of all curves."""
    networks = list(dict.fromkeys(curve.network for curve in curves))
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(networks), height))
    panels = figure.subplots(1, len(networks), squeeze=False)
    for panel, network in zip(panels[0], networks, strict=True):
        _draw_network(panel, [curve for curve in curves if curve.network == network])
    figure.tight_layout()
    figure.savefig(path)


def _draw_network(panel: Axes, curves: Sequence[Curve]) -> None:
    best = min(curve.best for curve in curves)
    labelled: set[str] = set()
    for curve in curves:
        seconds = [second for second, _ in curve.points]
        times = [network / best for _, network in curve.points]
        label = None if curve.strategy in labelled else LABELS[curve.strategy]
        labelled.add(curve.strategy)
        colour = COLOURS[curve.strategy]
        panel.step(seconds, times, where="post", label=label, color=colour)
    panel.set_title(f"{curves[0].network}, {curves[0].threads} threads")
    panel.set_xlabel("seconds of tuning")
    panel.set_ylabel("time, best known = 1")
    panel.legend()


def main() -> None:
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description="Draws the curves of benchmarks.searching.curves.")
    parser.add_argument("curves", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("curves.svg"))
    options = parser.parse_args()
    draw([read_curve(path) for path in options.curves], options.output)


if __name__ == "__main__":
    main()
