from dataclasses import replace
from pathlib import Path

import pytest

from search import Choice, Condition, SearchError, SearchTable, load_table, save_table
from search.table import TableRow

TABLE = SearchTable(
    "task",
    (
        Choice("rows", (1, 2)),
        Choice("tile", ((1, 2), (2, 1)), Condition("rows", 2)),
    ),
    (
        TableRow((0, 0), (1.0, 0.5), 2.0),
        TableRow((1, 0), (2.0, 0.5), 1.0),
        TableRow((1, 1), (2.0, 1.5), None),
    ),
    ("size", "shape"),
)


def test_a_table_survives_its_file(tmp_path: Path) -> None:
    save_table(TABLE, tmp_path / "table.json")
    assert load_table(tmp_path / "table.json") == TABLE


def test_each_row_has_the_named_features() -> None:
    with pytest.raises(SearchError, match="has 2 features, but 1 are named"):
        replace(TABLE, feature_names=("size",))


def test_only_rows_are_in_the_space() -> None:
    assert TABLE.space.enumerate(10) == [(0, 0), (1, 0), (1, 1)]


def test_throughputs_are_shares_of_the_best() -> None:
    assert TABLE.throughputs == {(0, 0): 0.5, (1, 0): 1.0, (1, 1): None}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"task": "t", "choices": [], "rows": [[[0], [], 1.0]]}', '{"choices": 3}'],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(SearchError, match="is not a search table"):
        load_table(path)


@pytest.mark.parametrize(
    "rows",
    [
        (TableRow((0, 0), (1.0, 1.0), -1.0),),
        (TableRow((0, 0), (1.0, 1.0), float("nan")),),
        (TableRow((0, 0), (1.0, 1.0), 1.0), TableRow((0, 0), (), 2.0)),
        (TableRow((0, 0), (1.0, 1.0), None),),
    ],
)
def test_rows_must_make_sense(rows: tuple[TableRow, ...]) -> None:
    with pytest.raises(SearchError):
        replace(TABLE, rows=rows)
