"""The page: a template, filled with reports and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from relay_tune.cli.page.curve import curve
from relay_tune.cli.page.kernel import KernelReport
from relay_tune.cli.page.network import NetworkReport
from relay_tune.cli.page.progress_figure import progress_figure
from relay_tune.cli.page.roofline_figure import roofline_figure
from relay_tune.cli.page.schedule_text import schedule_text
from relay_tune.cli.units import time_text
from relay_tune.quick_dataclass import dataclass

WIDE = (10.6, 4.2)
NARROW = (4.7, 4.0)
"""Inches of a figure on a wide and on a narrow screen; the page shows one of both."""

BARS = 10
"""So many kernels have a bar of their own."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The drawings of a network: for wide and for narrow screens; empty where nothing is known."""

    progress: tuple[Markup, Markup]
    roofline: tuple[Markup, Markup]


def page(log: str, networks: Sequence[NetworkReport]) -> str:
    """The page as HTML that needs nothing else; `log` is the name of the log."""
    environment = Environment(
        loader=PackageLoader("relay_tune.cli", "page"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "time": time_text,
        "percent": lambda share: "-" if share is None else f"{share:.0%}",
        "times": lambda gain: "-" if gain is None else f"{gain:.2f}x",
        "breakable": lambda title: escape(title).replace("+", Markup("+<wbr>")),
        "schedule": schedule_text,
        "curve": _curve,
    }
    environment.filters.update(filters)
    template = environment.get_template("page.html.jinja")
    text: str = template.render(
        log=log,
        networks=networks,
        figures=[_figures(network, number) for number, network in enumerate(networks)],
        style=_own("page.css"),
        script=_own("page.js"),
        bars=BARS,
    )
    return text


def _figures(network: NetworkReport, number: int) -> Figures:
    sizes = ((*WIDE, f"{number}w"), (*NARROW, f"{number}n"))
    wide, narrow = (Markup(progress_figure(network, *size)) for size in sizes)
    wide_roof, narrow_roof = (Markup(roofline_figure(network, *size)) for size in sizes)
    return Figures((wide, narrow), (wide_roof, narrow_roof))


def _curve(kernel: KernelReport) -> Markup:
    return Markup(curve([sample.seconds for sample in kernel.samples]))


def _own(name: str) -> Markup:
    """A file beside this one, which is part of the page as it is."""
    return Markup((files("relay_tune.cli.page") / name).read_text(encoding="utf-8"))
