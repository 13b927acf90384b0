from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from relay_tune.cli.report_curve import HEIGHT, MARGIN, curve
from tests.cli.conftest import Tune


def test_the_page_shows_tasks_and_needs_nothing_else(tune: Tune, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert tune("report", log, "-o", page).out == f"{page}\n"
    text = page.read_text()
    assert "dense+relu 4x16 &lt;b&gt;" in text
    assert "2 tasks, 5 measured schedules" in text
    assert "1 crash" in text
    assert "4.00x" in text
    assert ">50% (compute)<" in text
    assert ">0.001 GFLOP/s, 1e-05 GB/s<" in text
    assert "http" not in text
    assert "<script" not in text
    assert text.index("dense+relu") < text.index("unnamed")


def test_the_page_is_named_after_the_log(
    tune: Tune, log: Path, tmp_path: Path, monkeypatch: object
) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[attr-defined]
    assert tune("report", log).out == "tuning.html\n"
    assert (tmp_path / "tuning.html").exists()


def test_an_unwritable_page_leaves_nothing(tune: Tune, log: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    outcome = tune("report", log, "-o", tmp_path / "no" / "page.html")
    assert outcome.code == 1
    assert sorted(tmp_path.iterdir()) == before


def test_curve_falls_to_the_best_and_never_rises() -> None:
    drawing = ElementTree.fromstring(curve([None, 4.0, 1.0, 2.0]))
    points = [
        tuple(float(part) for part in point.split(","))
        for point in drawing.find("polyline").get("points").split()  # type: ignore[union-attr]
    ]
    heights = [y for _, y in points]
    assert heights == [MARGIN, HEIGHT - MARGIN, HEIGHT - MARGIN]
    assert len(drawing.findall("circle")) == 3
    assert [x for x, _ in points] == sorted(x for x, _ in points)


def test_curve_without_times_is_empty() -> None:
    assert curve([]) == ""
    assert curve([None, None]) == ""


def test_curve_of_one_time() -> None:
    assert "<circle" in curve([1.0])
