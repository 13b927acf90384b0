import pytest

import logs

DIE_RUNNING = """
import os, sys, logs
logs.open_log(sys.argv[1]).begin_run('{"trials":3}')
os._exit(1)
"""


def test_task_descriptions(path):
    with logs.open_log(path) as log:
        log.put_task("w", '{"shape":[1]}')
        log.put_task("w", '{"shape":[2]}')
        assert log.task("w") == '{"shape":[2]}'
        assert log.task("unknown") is None
        with pytest.raises(logs.LogError, match="description"):
            log.put_task("w", "not json")


def test_limits_belong_to_a_target(path):
    with logs.open_log(path) as log:
        log.put_limit("t", "flops", 1e12)
        log.put_limit("t", "flops", 2e12)
        log.put_limit("u", "flops", 3e12)
        assert log.limits("t") == {"flops": 2e12}
        assert log.limits("v") == {}


def test_damaged_tasks_and_limits_are_not_believed(path):
    with logs.open_log(path) as log:
        log.put_task("w", "[1]")
        log.put_limit("t", "flops", 1.0)
        with log._store.writing() as database:
            database.execute("UPDATE tasks SET description = '[2]'")
            database.execute("UPDATE limits SET value = 9.0")
        assert log.task("w") is None
        assert log.limits("t") == {}
        assert len(log.check().damaged) == 2


def test_runs_tell_how_they_ended(path, start):
    with logs.open_log(path) as log:
        finished, interrupted = log.begin_run("{}"), log.begin_run("{}")
        log.end_run(finished, "finished")
        log.end_run(interrupted, logs.RunState.INTERRUPTED)
        start(DIE_RUNNING, path).communicate()
        log.begin_run("{}")
        runs = log.runs()
    assert [run.state.value for run in runs] == [
        "finished",
        "interrupted",
        "interrupted",
        "running",
    ]
    assert runs[2].arguments == '{"trials":3}' and runs[2].ended is None


@pytest.mark.parametrize(("run", "state"), [(99, "finished"), (1, "running"), (1, "great")])
def test_a_run_ends_once_begun_and_in_a_known_way(path, run, state):
    with logs.open_log(path) as log:
        log.begin_run("{}")
        with pytest.raises(logs.LogError):
            log.end_run(run, state)


def test_results_of_a_run_are_kept_until_others_come(path):
    with logs.open_log(path) as log:
        run = log.begin_run("{}")
        log.end_run(run, "finished")
        assert log.runs()[0].results == "{}"
        log.note_results(run, '{"a":1}')
        log.note_results(run, '{"a":2}')
    with logs.open_log(path, readonly=True) as log:
        assert log.runs()[0].results == '{"a":2}'


@pytest.mark.parametrize(("run", "results"), [(9, "{}"), (1, "no JSON"), (1, 3)])
def test_results_are_json_of_a_run_that_there_is(path, run, results):
    with logs.open_log(path) as log:
        log.begin_run("{}")
        with pytest.raises(logs.LogError):
            log.note_results(run, results)
