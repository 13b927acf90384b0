from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

import logs
from relay_tune.cli.main import main
from relay_tune.cli.page.best_so_far import best_so_far, clock
from relay_tune.cli.page.read_log import network_reports
from relay_tune.tuning.kept_schedules import KEPT, KeptSchedule
from relay_tune.tuning.log_keeper import description_of
from relay_tune.tuning.run_record import read_run
from tests.cli.page.conftest import NODES, SCOPE, WHOLE


def test_a_network_counts_its_kernels_as_often_as_it_runs_them(network_log: Path) -> None:
    with logs.open_log(network_log, readonly=True) as log:
        (report,) = network_reports(log)
    assert (report.name, report.threads, report.measured, report.failed) == ("small_net", 2, 7, 1)
    assert [kernel.digest for kernel in report.kernels] == ["conv", "pool", "move"]
    assert report.seconds == pytest.approx(3 * 1e-3 + 5e-4 + 2e-6)
    assert report.untuned == pytest.approx(3 * 4e-3 + 5e-4 + 4e-6)
    conv = report.kernels[0]
    assert conv.gain == pytest.approx(4.0)
    assert report.share(conv) == pytest.approx(3e-3 / report.seconds)
    assert conv.operations == 100_000_000, "those of the algorithm of the chosen schedule"
    assert conv.limit_share == pytest.approx(100_000_000 / 4e11 / 1e-3)


def test_the_schedule_that_holds_in_the_network_is_shown(network_log: Path) -> None:
    with logs.open_log(network_log) as log:
        slower = list(log.history("conv"))[3]
        mark = KeptSchedule(SCOPE, slower.schedule, 1.9e-3, time.time())
        text = log.task("conv")
        assert text is not None
        log.put_task("conv", logs.canonical_json(KEPT.added(description_of(text), mark)))
        assert network_reports(log)[0].kernels[0].schedule == slower.schedule
        newer = replace(slower, schedule='{"nests":[]}', seconds=8e-4, created=time.time() + 9)
        log.append(newer)
        assert network_reports(log)[0].kernels[0].schedule == newer.schedule


def test_a_schedule_measured_again_keeps_its_first_time(network_log: Path) -> None:
    with logs.open_log(network_log) as log:
        first = next(iter(log.history("conv")))
        log.append(replace(first, created=first.created + 3600.0))
        samples = network_reports(log)[0].kernels[0].samples
    assert [sample.at for sample in samples] == sorted(sample.at for sample in samples)
    assert samples[0].at < first.created + 60.0


def test_the_sum_falls_from_when_all_kernels_are_known(network_log: Path) -> None:
    with logs.open_log(network_log, readonly=True) as log:
        (report,) = network_reports(log)
    minutes = clock(report.kernels)
    total = best_so_far(report.kernels, minutes)
    assert total.seconds == pytest.approx((3e-3 + 5e-4 + 4e-6, 3e-3 + 5e-4 + 2e-6))
    assert total.minutes == pytest.approx((35 / 60, 42 / 60))
    conv = best_so_far(report.kernels[:1], minutes)
    assert conv.seconds == pytest.approx((12e-3, 3e-3, 3e-3))


def test_a_long_pause_is_left_out(network_log: Path) -> None:
    with logs.open_log(network_log) as log:
        last = list(log.history("move"))[-1]
        log.append(replace(last, schedule='{"nests":[]}', created=last.created + 1e6))
        kernels = network_reports(log)[0].kernels
    assert max(clock(kernels).values()) == pytest.approx(42 / 60 + 1)


def test_runs_that_tell_no_kernels_are_passed_over() -> None:
    assert read_run('{"seconds":60,"seed":0,"trials":3}') is None
    assert read_run("[1]") is None
    text = '{"model":"m","target":"t","threads":1,"code_version":"1","kernels":{"a":-1,"b":2}}'
    run = read_run(text)
    assert run is not None
    assert run.kernels == (("b", 2),)


@pytest.mark.parametrize("seconds", [1e-300, 5e-324, 1e-11, 1e300, 1e8])
def test_a_time_that_no_kernel_takes_is_not_believed(
    network_log: Path, tmp_path: Path, seconds: float
) -> None:
    with logs.open_log(network_log) as log:
        first = next(iter(log.history("conv")))
        log.append(replace(first, seconds=seconds, schedule='{"nests":[]}'))
        conv = network_reports(log)[0].kernels[0]
    assert conv.seconds == 1e-3
    assert conv.failures == {"crash": 1, "implausible": 1}
    assert main(["report", str(network_log), "-o", str(tmp_path / "page.html")]) == 0


def test_a_network_has_its_own_names_and_the_times_of_the_whole(network_log: Path) -> None:
    with logs.open_log(network_log, readonly=True) as log:
        (report,) = network_reports(log)
    assert report.kernels[0].title == "stem: conv2d+relu 1x64x8x8"
    assert report.kernels[0].nodes == NODES
    assert report.kernels[1].title == "max_pool2d 1x4x4x64"
    assert report.whole is not None
    assert report.whole.times == WHOLE
    assert (report.whole.gain, report.whole.interval) == ("3.50x", "3.40x to 3.60x")


def test_the_times_of_an_earlier_run_stay_where_the_last_one_took_none(network_log: Path) -> None:
    with logs.open_log(network_log) as log:
        log.end_run(log.begin_run(log.runs()[0].arguments), "finished")
        (report,) = network_reports(log)
    assert report.whole is not None


@pytest.mark.parametrize(
    "results",
    [
        "{}",
        "[1]",
        '{"network":3}',
        '{"network":{"untuned":0,"tuned":1,"ratio":1,"interval":null}}',
        '{"network":{"untuned":1e300,"tuned":1,"ratio":1,"interval":null}}',
        '{"network":{"untuned":"1","tuned":1,"ratio":1,"interval":null}}',
    ],
)
def test_results_that_say_nothing_of_a_network_are_passed_over(
    network_log: Path, results: str
) -> None:
    with logs.open_log(network_log) as log:
        log.note_results(log.runs()[0].run_id, results)
        assert network_reports(log)[0].whole is None
