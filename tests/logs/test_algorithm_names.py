"""Logs and exchange files from the time when the algorithm of a schedule was a name."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import logs
from logs.algorithm_names import renamed_description, renamed_schedule

GOLDEN = Path(__file__).parent / "golden" / "algorithm_names"

FORMS = [
    None,
    [{"name": "rows", "block": 8}],
    [{"name": "split", "parts": 4}],
    [{"name": "strassen"}],
    [{"name": "winograd", "tile": 2}],
    [{"name": "winograd", "tile": 4}],
    [{"name": "winograd", "tile": 2, "block": 6}],
    [{"name": "winograd", "tile": 4, "block": 28}],
    [{"name": "bf16x3"}],
    [{"name": "bf16x6"}],
    [{"name": "bf16x3", "gathered": True}],
    [{"name": "bf16x6", "gathered": True}],
    "mine",
]
"""Of the records in the golden files, in their order; nobody knows the last one."""


@pytest.fixture(params=[False, True], ids=["written", "readonly"])
def old(request, path):
    connection = sqlite3.connect(path)
    connection.executescript((GOLDEN / "version_5.sql").read_text())
    connection.close()
    with logs.open_log(path, readonly=request.param) as log:
        yield log


def test_algorithms_of_an_old_log_have_parameters(old):
    records = list(old.history())
    assert [json.loads(record.schedule).get("algorithm") for record in records] == FORMS
    assert all(logs.canonical_json(json.loads(r.schedule)) == r.schedule for r in records)
    assert [record.seconds for record in records] == [pytest.approx(n / 1000) for n in range(1, 14)]
    (claim,) = old.claims()
    assert json.loads(claim.key.schedule)["algorithm"] == [{"name": "rows", "block": 4}]
    assert len(old.check().damaged) == 1


def test_descriptions_of_an_old_log_follow(old):
    found = json.loads(old.task("matmul-64"))
    names = [way["names"] for way in found["algorithms"]]
    assert names == [[[], FORMS[1]], [FORMS[7]]]
    (begin, text, *end), (_, empty, *_), odd = (
        (mark[:4], *mark[4:]) if len(mark) > 4 else mark for mark in found["finished"]
    )
    assert json.loads(text)["algorithm"] == FORMS[5] and empty == "" and odd == ["old"]
    assert (begin[3], end) == (64.0, ["fast", 13])
    assert json.loads(found["kept"][0]["schedule"])["algorithm"] == FORMS[6]
    assert json.loads(old.task("odd"))["kept"] == [3, {}]


def test_an_old_exchange_file_is_imported_as_its_log_is(old, tmp_path):
    file = tmp_path / "old.jsonl"
    shutil.copy(GOLDEN / "version_1.jsonl", file)
    with logs.open_log(tmp_path / "new.db") as log:
        assert log.import_json(file).added == len(FORMS)
        assert list(log.history()) == list(old.history())
        assert log.task("matmul-64") == old.task("matmul-64")
        log.export_json(tmp_path / "new.jsonl")
    again = tmp_path / "again.db"
    with logs.open_log(again) as log:
        assert log.import_json(tmp_path / "new.jsonl").added == len(FORMS)


@pytest.mark.parametrize(
    "text", ["[]", '"algorithm"', '{"algorithm":3}', '{"algorithm":"rows0"}', '{"algorithm":[]}']
)
def test_other_texts_stay(text):
    assert renamed_schedule(text) == renamed_description(text) == text
