from itertools import permutations

import pytest

import logs


def filled(path, *records):
    with logs.open_log(path) as log:
        for each in records:
            log.append(each)
    return path


def content(path):
    with logs.open_log(path) as log:
        return sorted(log.history(), key=lambda each: each.schedule)


def test_merge_adds_replaces_and_keeps(tmp_path, record):
    ours = filled(tmp_path / "a.db", record(1), record(2, created=10.0), record(3, created=10.0))
    theirs = filled(
        tmp_path / "b.db",
        record(1),
        record(2, created=20.0, seconds=9.0),
        record(3, created=5.0),
        record(4),
    )
    with logs.open_log(ours) as log:
        report = log.merge(theirs)
    assert (report.added, report.replaced, report.kept) == (1, 1, 2)
    assert not report.skipped
    assert content(ours) == [
        record(1),
        record(2, created=20.0, seconds=9.0),
        record(3, created=10.0),
        record(4),
    ]


def test_merging_again_changes_nothing(tmp_path, record):
    ours = filled(tmp_path / "a.db", record(1))
    theirs = filled(tmp_path / "b.db", record(2), record(2, seconds=5.0))
    with logs.open_log(ours) as log:
        log.merge(theirs)
        first = list(log.history())
        report = log.merge(theirs)
        assert list(log.history()) == first
    assert (report.added, report.replaced, report.kept) == (0, 0, 1)


def test_the_order_of_merging_does_not_matter(tmp_path, record):
    parts = [
        filled(tmp_path / "0.db", record(1, created=1.0), record(2, created=3.0, seconds=1.0)),
        filled(tmp_path / "1.db", record(1, created=2.0), record(1, created=2.0)),
        filled(tmp_path / "2.db", record(2, created=3.0, seconds=2.0), record(1, created=0.0)),
    ]
    results = []
    for order in permutations(range(3)):
        joined = tmp_path / f"joined{''.join(map(str, order))}.db"
        with logs.open_log(joined) as log:
            for part in order:
                log.merge(parts[part])
        results.append(content(joined))
    assert all(result == results[0] for result in results)


def test_merge_skips_damaged_rows_with_a_reason(tmp_path, record):
    theirs = filled(tmp_path / "b.db", record(1), record(2))
    with logs.open_log(theirs) as log, log._store.writing() as database:
        database.execute("UPDATE records SET seconds = 1e-9 WHERE id = 1")
    with logs.open_log(tmp_path / "a.db") as log:
        report = log.merge(theirs)
        assert list(log.history()) == [record(2)]
    assert report.added == 1
    assert dict(report.skipped) == {"damaged rows": 1}


def test_merge_replaces_a_damaged_row_of_ours(tmp_path, record):
    ours, theirs = filled(tmp_path / "a.db", record(1)), filled(tmp_path / "b.db", record(1))
    with logs.open_log(ours) as log:
        with log._store.writing() as database:
            database.execute("UPDATE records SET seconds = 1e-9")
        assert log.merge(theirs).replaced == 1
        assert list(log.history()) == [record(1)]


def test_merge_brings_tasks_and_limits_but_keeps_ours(tmp_path):
    with logs.open_log(tmp_path / "b.db") as theirs:
        theirs.put_task("w", "[1]")
        theirs.put_task("v", "[2]")
        theirs.put_limit("t", "flops", 1.0)
        theirs.put_limit("t", "bytes", 2.0)
    with logs.open_log(tmp_path / "a.db") as ours:
        ours.put_task("w", "[3]")
        ours.put_limit("t", "flops", 4.0)
        ours.merge(tmp_path / "b.db")
        assert (ours.task("w"), ours.task("v")) == ("[3]", "[2]")
        assert ours.limits("t") == {"flops": 4.0, "bytes": 2.0}


def test_merge_does_not_take_over_claims(tmp_path, record):
    with logs.open_log(tmp_path / "b.db") as theirs:
        theirs.claim(record().key)
    with logs.open_log(tmp_path / "a.db") as ours:
        ours.merge(tmp_path / "b.db")
        assert ours.claims() == []


def test_merge_refuses_itself_and_nonsense(tmp_path, record):
    with logs.open_log(filled(tmp_path / "a.db", record())) as log:
        with pytest.raises(logs.LogError, match="join itself"):
            log.merge(tmp_path / "a.db")
        with pytest.raises(logs.LogError, match="no such log"):
            log.merge(tmp_path / "missing.db")
        assert list(log.history()) == [record()]
