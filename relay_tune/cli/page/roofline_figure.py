"""Every kernel of a network beside what the machine can reach (Williams et al., 2009)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import atan2, degrees, sqrt

from matplotlib.axes import Axes

from relay_tune.cli.page.kernel import KernelReport
from relay_tune.cli.page.network import NetworkReport
from relay_tune.cli.page.themed_svg import INK, MUTED, SERIES, drawing, log_ticks, svg
from relay_tune.cli.units import rate_text, time_text
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits

NUMBERED = 8
"""So many kernels are named by their number in the table."""

LARGE = 13.0
"""A dot of so many points has room for its number."""

MARGIN = 2.5
"""The axes reach so many times as far as the kernels and the corner of the roof."""


@dataclass(frozen=True, slots=True)
class _Dot:
    """A kernel: its number in the table, and where it is drawn."""

    number: int
    kernel: KernelReport
    intensity: float
    rate: float
    size: float


@dataclass(frozen=True, slots=True)
class _Frame:
    """The range of both axes: operations a byte, operations a second."""

    left: float
    right: float
    low: float
    high: float


def roofline_figure(network: NetworkReport, width: float, height: float, salt: str) -> str:
    """The roofline plot as SVG; empty where no kernel that ran correctly has known work.

    A kernel without arithmetic is drawn with one operation for each four bytes, at the left.
    """
    dots = list(_dots(network))
    if not dots:
        return ""
    frame = _frame(dots, network.limits)
    with drawing(width, height, salt) as (figure, axes):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(frame.left, frame.right)
        axes.set_ylim(frame.low, frame.high)
        _set_axes(axes)
        figure.draw_without_rendering()  # the layout is known from here on
        if network.limits is not None:
            _roofs(axes, network.limits, frame)
        for dot in dots:
            _draw(axes, dot, salt)
        titles = {f"dot-{salt}-{dot.number}": _title(dot) for dot in dots}
        return svg(figure, f"roofline of {network.name or 'the kernels'}", titles)


def _dots(network: NetworkReport) -> Iterator[_Dot]:
    for number, kernel in enumerate(network.kernels, start=1):
        if not kernel.seconds or not kernel.bytes:
            continue
        operations = kernel.operations or kernel.bytes / 4
        size = 5.0 + 26.0 * sqrt(network.share(kernel))
        intensity, rate = operations / kernel.bytes, operations / kernel.seconds
        yield _Dot(number, kernel, intensity, rate, size)


def _frame(dots: Sequence[_Dot], limits: MachineLimits | None) -> _Frame:
    intensities = [dot.intensity for dot in dots]
    rates = [dot.rate for dot in dots]
    if limits is not None:
        peak = max(limits.operations.values())
        rates.append(peak)
        intensities.append(limits.operations["float32"] / limits.memory)
    return _Frame(
        min(intensities) / MARGIN,
        max(intensities) * MARGIN,
        min(rates) / MARGIN,
        max(rates) * MARGIN,
    )


def _roofs(axes: Axes, limits: MachineLimits, frame: _Frame) -> None:
    """A slope for each cache and for memory, and a ceiling for arithmetic."""
    peak = limits.operations["float32"]
    slopes = [(f"L{n}", cache.rate) for n, cache in enumerate(limits.caches, start=1)]
    for name, rate in [*slopes, ("memory", limits.memory)]:
        corner = peak / rate
        ends = (frame.left, min(corner, frame.right))
        axes.plot(ends, [end * rate for end in ends], color=MUTED, linewidth=1.0)
        _name_slope(axes, frame, name, rate, corner)
    for name, rate in limits.operations.items():
        if name != "float32" and rate < peak * 1.2:
            continue
        axes.axhline(rate, color=MUTED, linewidth=1.0)
        axes.annotate(
            f"{name} {rate / 1e9:.0f} GFLOP/s",
            (frame.right, rate),
            xytext=(-2, 4),
            textcoords="offset points",
            ha="right",
            color=MUTED,
            fontsize=9,
        )


def _name_slope(axes: Axes, frame: _Frame, name: str, rate: float, corner: float) -> None:
    """Write along a slope, beginning where it enters the picture; of memory, the lowest, below."""
    start = max(frame.left, frame.low / rate) * 1.2
    if start >= min(corner, frame.right):
        return
    axes.text(
        start,
        start * rate,
        f"{name} {rate / 1e9:.0f} GB/s",
        color=MUTED,
        fontsize=9,
        rotation=_angle(axes, frame),
        rotation_mode="anchor",
        va="top" if name == "memory" else "bottom",
    )


def _angle(axes: Axes, frame: _Frame) -> float:
    """The degrees at which a rate of bytes rises in the picture."""
    ends = [(frame.left, frame.low), (frame.left * 10, frame.low * 10)]
    (left, low), (right, high) = axes.transData.transform(ends)
    return degrees(atan2(high - low, right - left))


def _draw(axes: Axes, dot: _Dot, salt: str) -> None:
    (mark,) = axes.plot(
        [dot.intensity],
        [dot.rate],
        "o",
        color=SERIES[0],
        markersize=dot.size,
        alpha=0.45,
        markeredgecolor=SERIES[0],
        gid=f"dot-{salt}-{dot.number}",
        clip_on=False,
    )
    mark.set_zorder(3)
    if dot.number <= NUMBERED:
        beside = 0.0 if dot.size > LARGE else 0.4 * dot.size + 2.5
        axes.annotate(
            f"{dot.number}",
            (dot.intensity, dot.rate),
            xytext=(beside, beside),
            textcoords="offset points",
            ha="center" if beside == 0.0 else "left",
            va="center" if beside == 0.0 else "baseline",
            color=INK,
            fontsize=9,
            zorder=4,
        )


def _title(dot: _Dot) -> str:
    kernel = dot.kernel
    rates = rate_text(kernel.operations, kernel.bytes, kernel.seconds)
    return f"#{dot.number} {kernel.title}\n{time_text(kernel.seconds)}, {rates}"


def _set_axes(axes: Axes) -> None:
    axes.set_xlabel("operations for each byte")
    axes.set_ylabel("GFLOP/s")
    log_ticks(axes.xaxis, "{:g}".format)
    log_ticks(axes.yaxis, lambda rate: f"{rate / 1e9:g}")
    axes.tick_params(which="both", length=0)
    axes.spines["left"].set_visible(False)
