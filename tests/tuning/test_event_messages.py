from __future__ import annotations

import logging
from pathlib import Path

import pytest

import relay_tune as rt
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.tuning.event_messages import event_message
from relay_tune.tuning.events import CostModelFailed, Measured, RatesDisturbed, TaskFinished

TEXT = "def @main(%x: Tensor[(64, 64), float32]) { nn.softmax(%x) }"


def test_a_run_tells_the_logger(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="relay_tune")
    result = rt.tune(rt.parse(TEXT), log=tmp_path / "t.db", trials=2, minutes=1)
    assert {record.name for record in caplog.records} == {"relay_tune"}
    infos = [each.message for each in caplog.records if each.levelno == logging.INFO]
    assert any(each.startswith("tuning 1 kernel, 0 of 2 candidates") for each in infos)
    assert sum(": candidate" in each.message or " best " in each.message
               for each in caplog.records) >= result.measured  # fmt: skip
    assert repr(result).startswith(f"<TuningResult 1 kernel, {result.measured} candidate")
    assert "whole network" in repr(result)
    assert "<th>kernel</th>" in result._repr_html_()


def test_a_build_tells_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="relay_tune")
    rt.build(rt.parse(TEXT))
    assert "compile 1/1" in caplog.text


def test_nothing_is_printed_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    rt.build(rt.parse(TEXT))
    assert capfd.readouterr() == ("", "")


def test_messages() -> None:
    failed = Measured(
        "k", "d", Outcome.CRASH, None, "signal 11", None, None, None, "", 1, 1, 1, 1, 1
    )
    assert event_message(failed) == (logging.DEBUG, "k: crash signal 11")
    assert event_message(TaskFinished("k", "d", "at the limit", 2e-6)) == (
        logging.INFO,
        "k: finished at 2 us, at the limit",
    )
    assert event_message(CostModelFailed("no rows"))[0] == logging.WARNING
    assert event_message(RatesDisturbed(1)) == (
        logging.WARNING,
        "beside other work: 1 rate of the machine did not repeat and may be too low",
    )
