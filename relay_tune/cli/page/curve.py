"""Progress of one task as a small drawing (inline SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

WIDTH = 300.0
HEIGHT = 80.0
MARGIN = 3.0


def curve(seconds: Sequence[float | None]) -> str:
    """Each time as a dot and the best so far as a line; time grows upward, logarithmically.

    None stands for a schedule that failed; without any time the drawing is empty.
    """
    times = [each for each in seconds if each is not None]
    if not times:
        return ""
    low, high = log(min(times)), log(max(times))
    span = max(high - low, 1e-9)
    step = (WIDTH - 2 * MARGIN) / max(1, len(seconds) - 1)

    def point(index: int, time: float) -> tuple[float, float]:
        height = (log(time) - low) / span * (HEIGHT - 2 * MARGIN)
        return MARGIN + index * step, HEIGHT - MARGIN - height

    dots = [point(index, time) for index, time in enumerate(seconds) if time is not None]
    best = [point(index, time) for index, time in _best_so_far(seconds)]
    circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5"/>' for x, y in dots)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in best)
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" '
        f'role="img" aria-label="best time after each measurement">{circles}'
        f'<polyline points="{line}"/></svg>'
    )


def _best_so_far(seconds: Sequence[float | None]) -> list[tuple[int, float]]:
    """The best time after each measurement, from the first correct one on."""
    best: float | None = None
    points: list[tuple[int, float]] = []
    for index, time in enumerate(seconds):
        if time is not None:
            best = time if best is None else min(best, time)
        if best is not None:
            points.append((index, best))
    return points
