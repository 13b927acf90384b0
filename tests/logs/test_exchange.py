import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import logs

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TIMES = st.floats(min_value=5e-324, max_value=1e300)
NOT_NEGATIVE = st.floats(min_value=0, max_value=1e300)
RECORDS = st.builds(
    logs.Record,
    workload=TEXTS,
    target=TEXTS,
    threads=st.integers(1, 2**63 - 1),
    code_version=TEXTS,
    schedule=JSON_VALUES.map(logs.canonical_json),
    status=st.sampled_from(logs.Status),
    created=NOT_NEGATIVE,
    source=TEXTS,
    seconds=TIMES,
    spread=st.none() | NOT_NEGATIVE,
    message=TEXTS | st.just(""),
    features=st.just("")
    | st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(logs.canonical_json),
    measurements=st.integers(1, 1000),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(RECORDS, max_size=4, unique_by=lambda record: record.key))
def test_export_and_import_give_back_the_same(records):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with logs.open_log(folder / "a.db") as log:
            for record in records:
                log.append(record)
            assert list(log.history()) == records
            log.export_json(folder / "a.jsonl")
        with logs.open_log(folder / "b.db") as log:
            report = log.import_json(folder / "a.jsonl")
            assert list(log.history()) == records
            assert report.added == len(records) and not report.skipped


@pytest.fixture
def exported(tmp_path, record):
    with logs.open_log(tmp_path / "source.db") as log:
        log.append(record(1))
        log.append(record(2))
        log.put_task("matmul-64", '{"n":64}')
        log.put_limit("t", "flops", 1e9)
        log.export_json(tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


def test_tasks_and_limits_travel_too(path, exported):
    with logs.open_log(path) as log:
        log.import_json(exported)
        assert log.task("matmul-64") == '{"n":64}'
        assert log.limits("t") == {"flops": 1e9}


def test_unusable_lines_are_skipped_with_reasons(path, exported, record):
    lines = exported.read_text().splitlines()
    changed = {**json.loads(lines[-1]), "seconds": 1e-9}
    incomplete = {"kind": "record", "workload": "w"}
    hostile = {**json.loads(lines[-1]), "schedule": ["a", "list"], "threads": {}}
    extra = [
        json.dumps(changed),
        json.dumps(incomplete),
        json.dumps(hostile),
        '{"kind": "poem"}',
        '{"kind": []}',
        "[" * 100_000,
        "nonsense",
        "\udcff",
    ]
    exported.write_text("\n".join(lines + extra), errors="surrogateescape")
    with logs.open_log(path) as log:
        report = log.import_json(exported)
        assert list(log.history()) == [record(1), record(2)]
    assert report.added == 2
    assert report.skipped == {
        "the digest does not agree with the content": 1,
        "a record without all of its fields": 1,
        "threads must be an integer, not dict": 1,
        "unknown kind of line": 2,
        "not a JSON object": 3,
    }


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "not an exported log"),
        ("hello", "not an exported log"),
        ('{"format":"tuning-log","version":99}\n', "version 99"),
        ("[1]\n", "not an exported log"),
    ],
)
def test_other_files_are_refused(path, tmp_path, content, text):
    (tmp_path / "other").write_text(content)
    with logs.open_log(path) as log, pytest.raises(logs.LogError, match=text):
        log.import_json(tmp_path / "other")


def test_files_that_cannot_be_used(path, tmp_path):
    with logs.open_log(path) as log:
        for place in (tmp_path / "missing", tmp_path):
            with pytest.raises(logs.LogError, match="cannot be read"):
                log.import_json(place)
        with pytest.raises(logs.LogError, match="cannot be written"):
            log.export_json(tmp_path)
        with pytest.raises(logs.LogError, match="folder does not exist"):
            log.export_json(tmp_path / "nowhere" / "log.jsonl")


def test_export_writes_the_whole_file_or_nothing(exported, tmp_path, monkeypatch):
    before = exported.read_text()

    def fail(*_):
        raise logs.LogError("broken", "here", "mend it")

    with logs.open_log(tmp_path / "source.db") as log:
        monkeypatch.setattr("logs.exchange.row_of", fail)
        with pytest.raises(logs.LogError, match="broken"):
            log.export_json(exported)
    assert exported.read_text() == before
    assert [file.name for file in tmp_path.glob("*.unfinished")] == []
