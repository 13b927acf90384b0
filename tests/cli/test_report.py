from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

import logs
from relay_tune.cli.page.curve import HEIGHT, MARGIN, curve
from tests.cli.conftest import Tune


def test_the_page_shows_tasks_and_needs_nothing_else(tune: Tune, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert tune("report", log, "-o", page).out == f"{page}\n"
    text = page.read_text()
    assert "dense+relu 4x16 &lt;b&gt;" in text
    assert "5 measured schedules" in text
    assert "1 crash" in text
    assert "4.00x" in text
    assert ">50% <small" in text
    assert ">0.001<" in text
    assert "http" not in text
    assert text.index("dense+relu") < text.index("unnamed")


def test_names_that_no_encoding_has_are_escaped(tune: Tune, log: Path, tmp_path: Path) -> None:
    with logs.open_log(log) as opened:
        opened.put_task("unnamed", '{"title": "half \\ud800 of a character"}')
    assert tune("report", log, "-o", tmp_path / "page.html").code == 0
    assert r"half \ud800 of a character" in (tmp_path / "page.html").read_text()
    assert r"half \ud800 of a character" in tune("log", "list", log).out


def test_a_time_beyond_the_limit_is_shown_as_it_is(
    tune: Tune, log: Path, tmp_path: Path, record: Callable[..., logs.Record]
) -> None:
    with logs.open_log(log) as opened:
        opened.append(record(5, 4e-4))
    tune("report", log, "-o", tmp_path / "page.html")
    assert ">125% <small" in (tmp_path / "page.html").read_text()


def test_the_page_is_named_after_the_log(
    tune: Tune, log: Path, tmp_path: Path, monkeypatch: object
) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[attr-defined]
    assert tune("report", log).out == "tuning.html\n"
    assert (tmp_path / "tuning.html").exists()


def test_what_the_page_says_is_told_to_scripts(tune: Tune, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = json.loads(tune("report", log, "-o", page, "--json").out)
    assert found["page"] == str(page) and page.exists()
    kernels = [kernel for network in found["networks"] for kernel in network["kernels"]]
    (dense,) = (kernel for kernel in kernels if kernel["title"] == "dense+relu 4x16 <b>")
    assert dense["untuned_seconds"] == 4 * dense["seconds"]
    assert dense["failures"] == {"crash": 1} and dense["measured"] == 4
    assert json.loads(dense["schedule"])


def test_an_unwritable_page_leaves_nothing(tune: Tune, log: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    outcome = tune("report", log, "-o", tmp_path / "no" / "page.html")
    assert outcome.code == 1
    assert sorted(tmp_path.iterdir()) == before


def test_without_the_libraries_of_the_extra_the_verb_says_what_to_install(
    tune: Tune, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "relay_tune.cli.page.render", raising=False)
    outcome = tune("report", log, "-o", tmp_path / "page.html")
    assert outcome.code == 1
    assert "needs the library jinja2" in outcome.err
    assert "pip install 'relay-tune[report]'" in outcome.err
    assert not (tmp_path / "page.html").exists()


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
