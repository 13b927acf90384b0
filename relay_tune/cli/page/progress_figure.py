"""Draws the best time so far of a network and of its largest kernels."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from relay_tune.cli.page.best_so_far import Curve, best_so_far, clock
from relay_tune.cli.page.network import NetworkReport
from relay_tune.cli.page.themed_svg import INK, MUTED, SERIES, drawing, log_ticks, svg
from relay_tune.cli.units import time_text

SHOWN = 5
"""So many kernels have a line of their own."""

SHORT = 2.0
"""A run of at most so many minutes is drawn in seconds."""

LINE = 0.22
"""Inches between the names of two curves, of the height of a figure."""

TOTAL = "all kernels"


def progress_figure(network: NetworkReport, width: float, height: float, salt: str) -> str:
    """The curves as SVG; empty where nothing ran correctly."""
    minutes = clock(network.kernels)
    curves = [(TOTAL, INK, 2.4, best_so_far(network.kernels, minutes))]
    for number, kernel in enumerate(network.kernels[:SHOWN]):
        curve = best_so_far([kernel], minutes)
        curves.append((f"#{number + 1}", SERIES[number], 1.5, curve))
    curves = [each for each in curves if each[-1].minutes]
    if not curves:
        return ""
    with drawing(width, height, salt) as (figure, axes):
        last = max(minutes.values())
        unit, factor = ("seconds", 60.0) if last <= SHORT else ("minutes", 1.0)
        for _, colour, weight, curve in curves:
            _line(axes, _extended(curve, last), factor, colour, weight)
        ends = [(name, colour, curve.seconds[-1]) for name, colour, _, curve in curves]
        _label_ends(axes, ends, height)
        _set_axes(axes, last * factor, unit, width)
        return svg(figure, f"best time so far of {network.name or 'the kernels'}", {})


def _extended(curve: Curve, end: float) -> Curve:
    """The curve with its last value up to the end of all measuring."""
    return Curve((*curve.minutes, end), (*curve.seconds, curve.seconds[-1]))


def _line(axes: Axes, curve: Curve, factor: float, colour: str, weight: float) -> None:
    axes.plot(
        [factor * minutes for minutes in curve.minutes],
        curve.seconds,
        color=colour,
        linewidth=weight,
        drawstyle="steps-post",
    )


def _label_ends(axes: Axes, ends: list[tuple[str, str, float]], height: float) -> None:
    """A name and a time at the end of each line, moved apart where they would overlap."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    step = (high / low) ** (LINE / height)
    below = 0.0
    for name, colour, seconds in sorted(ends, key=lambda end: end[2]):
        below = max(seconds, below * step)
        axes.annotate(
            f"{name}  {time_text(seconds)}",
            (1.0, below),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontsize=10,
            annotation_clip=False,
        )


def _set_axes(axes: Axes, end: float, unit: str, width: float) -> None:
    axes.set_xlim(0.0, max(end, 1e-3))
    axes.xaxis.set_major_locator(MaxNLocator(round(width)))
    axes.set_xlabel(f"{unit} of measuring")
    axes.set_ylabel("best time so far")
    log_ticks(axes.yaxis, time_text)
    axes.tick_params(which="both", length=0)
    axes.xaxis.grid(False)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
