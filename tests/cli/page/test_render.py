"""The page without a browser: what is drawn, and that nothing is fetched."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from relay_tune.cli.page.kernel import KernelReport, Sample
from relay_tune.cli.page.network import NetworkReport
from relay_tune.cli.page.progress_figure import progress_figure
from relay_tune.cli.page.schedule_text import schedule_text
from tests.cli.conftest import Tune
from tests.cli.page.conftest import KERNELS


def drawings(page: Path, name: str) -> list[ElementTree.Element]:
    """The drawings of a figure: for wide and for narrow screens."""
    figure = page.read_text().split(f'<figure class="{name}">')[1].split("</figure>")[0]
    found = re.findall(r"<svg .*?</svg>", figure, flags=re.DOTALL)
    return [ElementTree.fromstring(each.replace("xlink:href", "href")) for each in found]


def test_the_page_fetches_nothing(network_page: Path) -> None:
    text = network_page.read_text()
    assert "http" not in text
    assert "url(" not in text.replace("url(#", "")
    assert not re.search(r'(src|href)="(?!#|data:,)', text)
    assert "<b>" not in text.split("transpose 64x64")[1][:20]


def test_every_kernel_is_a_dot_of_the_roofline(network_page: Path) -> None:
    for drawing in drawings(network_page, "roofline"):
        titles = [title.text or "" for title in drawing.iter("title")]
        assert len(titles) == len(KERNELS)
        assert titles[0] == "#1 stem: conv2d+relu 1x64x8x8\n1 ms, 100 GFLOP/s, 2 GB/s"
        words = [text.text for text in drawing.iter("text")]
        for limit in ("L1 400 GB/s", "L2 200 GB/s", "memory 20 GB/s", "float32 400 GFLOP/s"):
            assert limit in words


def test_the_curves_have_axes_and_end_at_the_best_times(network_page: Path) -> None:
    for drawing in drawings(network_page, "progress"):
        words = [text.text for text in drawing.iter("text")]
        assert "seconds of measuring" in words
        assert "best time so far" in words
        assert "all kernels  3.5 ms" in words
        assert "#1  3 ms" in words
        assert "1 ms" in words, "a tick of the logarithmic axis"


def test_a_log_without_limits_or_descriptions_has_a_page(
    tune: Tune, log: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert tune("report", log, "-o", page).code == 0
    assert "no run of this log counts these kernels to a network" in page.read_text()


@pytest.mark.parametrize("text", ['{"tile":1}', "[1]", '{"nests":[1]}', "3"])
def test_a_strange_schedule_is_shown_as_it_is(text: str) -> None:
    assert schedule_text(text)


def test_a_schedule_has_a_line_for_each_choice() -> None:
    nests = '"nests":[{"lanes":8,"order":[1,0]},{"lanes":4}]'
    text = f'{{"algorithm":[{{"name":"winograd","tile":4}}],{nests}}}'
    assert schedule_text(text).splitlines() == [
        "algorithm: winograd(tile=4)",
        "nest 1 of 2",
        "  lanes  8",
        "  order  [1, 0]",
        "nest 2 of 2",
        "  lanes  4",
    ]


@pytest.mark.parametrize(("last", "unit"), [(90.0, "seconds"), (400.0, "minutes")])
def test_long_runs_are_drawn_in_minutes(last: float, unit: str) -> None:
    times = [0.0, *(number * last / 10 for number in range(1, 11))]
    samples = tuple(Sample(at, 1e-3 / (1 + at)) for at in times)
    kernel = KernelReport("relu 4", (), "d", 1, 1e-3, 1e-3, "", 1.0, 1.0, None, samples, {})
    network = NetworkReport("net", "x86_64", 1, "1", None, (kernel,))
    drawn = progress_figure(network, 6.0, 3.0, "salt")
    assert f"{unit} of measuring" in drawn
