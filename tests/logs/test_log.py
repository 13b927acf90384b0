import os
import threading

import pytest

import logs

WHERE = ("matmul-64", "x86_64-linux-gnu:haswell", 2, "1")


def test_round_trip_of_every_field(path, record):
    full = record(
        status="wrong",
        seconds=0.1 + 0.2,
        spread=-0.0,
        message="größer\n\0als",
        features="[1,2.5,-3e-9]",
    )
    with logs.open_log(path) as log:
        log.append(full)
    with logs.open_log(path) as log:
        assert list(log.history()) == [full]


def test_best_is_the_fastest_correct_record(path, record):
    with logs.open_log(path) as log:
        log.append(record(3))
        log.append(record(1))
        log.append(record(0, status="wrong"))
        log.append(record(2))
        assert log.best(*WHERE) == record(1)


@pytest.mark.parametrize(
    "change",
    [{"workload": "w"}, {"target": "t"}, {"threads": 4}, {"code_version": "2"}],
    ids=lambda change: next(iter(change)),
)
def test_best_never_mixes_different_situations(path, record, change):
    with logs.open_log(path) as log:
        log.append(record(0, **change))
        assert log.best(*WHERE) is None


def test_best_of_equal_times_is_the_first(path, record):
    with logs.open_log(path) as log:
        log.append(record(5, seconds=1.0))
        log.append(record(4, seconds=1.0))
        assert log.best(*WHERE) == record(5, seconds=1.0)


def test_measuring_again_replaces_and_counts(path, record):
    with logs.open_log(path) as log:
        log.append(record(seconds=1.0))
        log.append(record(seconds=2.0))
        assert list(log.history()) == [record(seconds=2.0, measurements=2)]


def test_history_filters_and_keeps_the_order(path, record):
    records = [record(number, threads=1 + number % 2) for number in (4, 2, 3, 1)]
    with logs.open_log(path) as log:
        for each in records:
            log.append(each)
        assert list(log.history()) == records
        assert list(log.history(threads=1)) == [records[0], records[1]]
        assert list(log.history(workload="nothing")) == []


def test_history_longer_than_a_page_while_appending(path, record):
    with logs.open_log(path) as log:
        with log._store.writing() as database:
            from_log = [record(number) for number in range(1203)]
            database["records"].insert_all(logs.rows.row_of(each) for each in from_log)
        seen = []
        for each in log.history():
            if not seen:
                log.append(record(5000))
            seen.append(each)
        assert seen == [*from_log, record(5000)]


def test_the_history_includes_failures(path, record):
    with logs.open_log(path) as log:
        log.append(record(1))
        log.append(record(2, status="crash", seconds=None))
        found = {each.schedule for each in log.history(*WHERE)}
        assert found == {record(1).schedule, record(2).schedule}


def test_workloads_are_summarised(path, record):
    with logs.open_log(path) as log:
        log.append(record(1))
        log.append(record(2, status="crash", seconds=None))
        log.append(record(3, workload="a", status="error", seconds=None))
        first, second = log.workloads()
    assert (first.workload, first.records, first.ok, first.best_seconds) == ("a", 1, 0, None)
    assert (second.records, second.ok, second.best_seconds) == (2, 1, record(1).seconds)
    assert second.newest == record(2).created


def test_a_closed_log_says_so(path, record):
    log = logs.open_log(path)
    log.close()
    log.close()
    with pytest.raises(logs.LogError, match="closed"):
        log.append(record())


def test_a_log_of_another_thread_says_so(path, record):
    caught = []

    def use() -> None:
        try:
            log.append(record())
        except logs.LogError as error:
            caught.append(error)

    with logs.open_log(path) as log:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert "thread" in str(caught[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_log_of_a_parent_process_is_refused(path, record):
    with logs.open_log(path) as log:
        child = os.fork()
        if child == 0:
            refused = False
            try:
                log.append(record())
            except logs.LogError:
                refused = True
            os._exit(7 if refused else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7


def test_a_failed_append_leaves_no_trace(path, record, monkeypatch):
    with logs.open_log(path) as log:
        monkeypatch.setattr("logs.measurements.drop_claim", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            log.append(record(1))
        monkeypatch.undo()
        log.append(record(2))
        assert list(log.history()) == [record(2)]


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
