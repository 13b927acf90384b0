"""Figures of matplotlib as SVG that is part of a page: its colours and its font are the page's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from io import StringIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

INK, MUTED, GRID = "#01010a", "#01010b", "#01010c"
SERIES = tuple(f"#0102{number:02x}" for number in range(6))
"""Colours that stand for those of the page: `--ink`, `--muted`, `--grid`, `--series0`, ..."""

_NAMES = {INK: "ink", MUTED: "muted", GRID: "grid"} | {
    colour: f"series{number}" for number, colour in enumerate(SERIES)
}
_SETTINGS = {
    "svg.fonttype": "none",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "lines.solid_capstyle": "round",
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@contextmanager
def drawing(width: float, height: float, salt: str) -> Iterator[tuple[Figure, Axes]]:
    """A figure of so many inches and its axes, in the style of the page.

    `salt` has to differ between the figures of a page: their parts are named after it.
    """
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
        axes = figure.add_subplot(facecolor="none")
        yield figure, axes


def log_ticks(axis: Axis, text: Callable[[float], str]) -> None:
    """Ticks of a logarithmic axis, with `text` beside them; the fewer, the farther it reaches."""
    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high / low < 300.0 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def svg(figure: Figure, label: str, titles: Mapping[str, str]) -> str:
    """An SVG element; `label` says what it shows, `titles` are shown over the groups so named."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata=_NO_METADATA)
    box = re.search(r'viewBox="[^"]*"', text.getvalue())
    inner = re.sub(r"^.*?<svg [^>]*>", "", text.getvalue(), count=1, flags=re.DOTALL)
    drawn = f'<svg {box[0] if box else ""} role="img" aria-label="{escape(label)}">{inner}'
    for colour, name in _NAMES.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    for name, title in titles.items():
        drawn = drawn.replace(
            f'<g id="{name}">', f'<g id="{name}" class="dot"><title>{escape(title)}</title>'
        )
    return drawn
