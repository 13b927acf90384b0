"""A tuning log as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from relay_tune.cli.report_curve import curve
from relay_tune.cli.units import rate_text, time_text
from relay_tune.runtime.machine_limits import Bound

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 12rem; height: 2.5rem; vertical-align: middle; }
polyline { fill: none; stroke: #2a7; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
circle { fill: #8888; }
"""

HEAD = """<tr><th>task</th><th>target</th><th class="number">measured</th>
<th class="number">failed</th><th class="number">first</th><th class="number">best</th>
<th class="number">gain</th><th class="number">GFLOP/s, GB/s</th>
<th class="number">of the limit</th><th>best so far</th></tr>"""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a log knows of one task on one target.

    `seconds` are the times in the order of measuring, None for those that failed; `failures` counts
    the failed ones by reason; `bound` is the least time that the machine needs, if known, for the
    operations and bytes of one run.
    """

    title: str
    target: str
    threads: int
    code_version: str
    operations: float
    bytes: float
    bound: Bound | None
    failures: Mapping[str, int]
    seconds: tuple[float | None, ...]

    @property
    def correct(self) -> tuple[float, ...]:
        """The times of the schedules that ran correctly."""
        return tuple(each for each in self.seconds if each is not None)

    @property
    def best(self) -> float | None:
        """The shortest time."""
        return min(self.correct, default=None)


def page(name: str, reports: Sequence[TaskReport]) -> str:
    """The page; `name` is that of the log."""
    measured = sum(len(report.seconds) for report in reports)
    rows = "\n".join(_row(report) for report in reports)
    title = escape(f"Tuning log {name}")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p>{len(reports)} tasks, {measured} measured schedules.</p>
<table>
{HEAD}
{rows}
</table>
</body>
</html>
"""


def _row(report: TaskReport) -> str:
    correct, best = report.correct, report.best
    first = correct[0] if correct else None
    gain = f"{first / best:.2f}x" if first is not None and best is not None else "-"
    rates = rate_text(report.operations, report.bytes, best)
    times = (time_text(first), time_text(best), gain, rates, _share(report.bound, best))
    numbers = (str(len(report.seconds)), _failed(report), *times)
    cells = "".join(f'<td class="number">{escape(number)}</td>' for number in numbers)
    target = f"{report.target}, {report.threads} threads, code {report.code_version}"
    return (
        f"<tr><td>{escape(report.title)}</td><td>{escape(target)}</td>{cells}"
        f"<td>{curve(report.seconds)}</td></tr>"
    )


def _share(bound: Bound | None, best: float | None) -> str:
    """How near the best time is to the limit, and what limits it."""
    if bound is None or best is None:
        return "-"
    return f"{min(1.0, bound.seconds / best):.0%} ({bound.name})"


def _failed(report: TaskReport) -> str:
    return (
        ", ".join(f"{count} {reason}" for reason, count in sorted(report.failures.items())) or "0"
    )
