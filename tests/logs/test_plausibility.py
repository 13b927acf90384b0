"""Times that no machine can reach are kept, never believed."""

import sqlite3
from pathlib import Path

import pytest

import logs

IMPOSSIBLE = Path(__file__).parent / "golden" / "impossible_times" / "version_3.sql"
LIMITS = {
    "float32 operations/s, 2 threads": 1e11,
    "float32 operations/s, 1 threads": 5e10,
    "int8 operations/s, 2 threads": 4e11,
    "L1 bytes/s, 2 threads": 2e11,
    "memory bytes/s, 2 threads": 2e10,
}


def work(moved: float = 0, **operations: float) -> dict[str, object]:
    return {"operations": operations, "bytes": moved}


@pytest.fixture
def old(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(IMPOSSIBLE.read_text())
    connection.close()
    return path


@pytest.mark.parametrize(
    ("ways", "least"),
    [
        ([work(float32=1e9)], 1e-2),
        ([work(float32=1e9), work(float32=4e8)], 4e-3),
        ([work(int8=1e9)], 2.5e-3),
        ([work(int8=1e9, float32=1e9)], 1.25e-2),
        ([work(float64=1e9)], 2.5e-3),
        ([work(4e9, float32=1)], 1e-2),
    ],
    ids=["operations", "the least of all ways", "own rate", "added", "unknown unit", "bytes"],
)
def test_work_takes_its_time(ways: list[object], least: float) -> None:
    assert logs.least_seconds({"algorithms": ways}, LIMITS, 2) == pytest.approx(least)


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"algorithms": 3},
        {"algorithms": []},
        {"algorithms": [work(float32=1e9), "?"]},
        {"algorithms": [{"operations": {"float32": "many"}, "bytes": 1}]},
        {"algorithms": [{"operations": {"float32": -1e30}, "bytes": 1}]},
        {"algorithms": [{"operations": {"float32": True}, "bytes": 1}]},
        {"algorithms": [{"operations": {}, "bytes": None}]},
    ],
)
def test_of_what_is_not_described_nothing_is_known(description: dict[str, object]) -> None:
    assert logs.least_seconds(description, LIMITS, 2) is None


def test_threads_do_at_most_their_number_of_times_what_one_does() -> None:
    disturbed = {**LIMITS, "float32 operations/s, 2 threads": 6e10}
    description = {"algorithms": [work(float32=1e9)]}
    assert logs.least_seconds(description, disturbed, 2) == pytest.approx(1e-2)
    assert logs.least_seconds(description, disturbed, 1) == pytest.approx(2e-2)


@pytest.mark.parametrize("rate", [5e-324, 0.0, 1.0, 1e300])
def test_rates_of_no_machine_say_nothing(rate: float) -> None:
    absurd = {"float32 operations/s, 2 threads": rate}
    assert logs.least_seconds({"algorithms": [work(float32=1e9)]}, absurd, 2) is None
    of_more = {"float32 operations/s, 4 threads": 1e11}
    assert logs.least_seconds({"algorithms": [work(float32=1e9)]}, of_more, 2) is None


def test_a_time_may_lie_below_by_what_rates_are_wrong() -> None:
    assert logs.is_implausible(0.97, 1.0)
    assert not logs.is_implausible(0.99, 1.0)
    assert not logs.is_implausible(1e-9, None)


@pytest.mark.parametrize("readonly", [False, True])
def test_impossible_times_of_an_old_log_are_marked(old: Path, readonly: bool) -> None:
    with logs.open_log(old, create=False, readonly=readonly) as log:
        records = list(log.history("conv-64", threads=2))
        assert [record.status.value for record in records] == ["ok", "implausible", "ok", "crash"]
        assert records[1].seconds == 731e-9 and "0.001 s at least" in records[1].message
        best = log.best("conv-64", records[0].target, 2, "1")
        assert best is not None and best.seconds == 0.0011
        report = log.check()
    assert report.ok and report.damaged == ()
    assert len(report.implausible) == 1
    assert report.implausible[0].startswith("records, row 2: 7.31e-07 s measured")


def test_where_the_least_time_is_not_known_a_time_stays(old: Path) -> None:
    with logs.open_log(old) as log:
        assert [record.status.value for record in log.history("conv-64", threads=1)] == ["ok"]
        assert [record.status.value for record in log.history("matmul-64")] == ["ok"]


def test_an_exported_old_log_brings_no_impossible_times(old: Path, path: Path) -> None:
    with logs.open_log(old) as log, log._store.writing() as database:
        database.execute("DELETE FROM records WHERE status = 'implausible'")
    with logs.open_log(old) as log:
        first = next(log.history("conv-64"))
        log.append(
            logs.Record(
                *(first.workload, first.target, 2, "1", '{"tile":7}', "ok", 1.0, "host"),
                seconds=1e-9,
            )
        )
        log.export_json(path.with_suffix(".jsonl"))
        assert len(log.check().implausible) == 1
    with logs.open_log(path.with_name("other.db")) as other:
        report = other.import_json(path.with_suffix(".jsonl"))
        assert report.skipped == {"times that no machine can reach": 1}
        statuses = {record.schedule: record.status.value for record in other.history("conv-64")}
        assert statuses['{"tile":7}'] == "implausible"


def test_an_impossible_time_is_measured_again(old: Path) -> None:
    with logs.open_log(old) as log:
        found = [each for each in log.history("conv-64") if each.status == "implausible"]
        assert log.claim(found[0].key)
