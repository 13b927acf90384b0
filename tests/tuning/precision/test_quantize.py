from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError
from relay_tune.quantization.loss import output_error
from relay_tune.tuning import turns
from relay_tune.tuning.precision import native_trials
from relay_tune.tuning.precision.native_trials import NativeTrials
from tests.quantization.networks import IMAGES, bound, images

OPTIONS = {"scheme": "auto", "method": "minmax", "threads": 1, "minutes": 2.0}


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_trials, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)


def test_the_bound_is_kept_on_samples_that_ranges_do_not_come_from(tmp_path: Path) -> None:
    module, report, lines = bound(IMAGES), rt.QuantizationReport(), list[str]()
    most = 0.012
    data = images(16)
    told = {"details": report, "report": lines.append, "log": tmp_path / "tuning.db"}
    result = rt.quantize(module, calibration=data, max_loss=most, **told, **OPTIONS)
    assert 0 <= report.loss <= most
    held_out = data[::4]
    expected = [rt.interpret(module, x) for x in held_out]
    found = [rt.build(result, threads=1)(x) for x in held_out]
    losses = [output_error([one], [other]) for one, other in zip(expected, found, strict=True)]
    assert np.mean(losses) == pytest.approx(report.loss, abs=0.003)
    names = [each.name for each in report.compared]
    assert names == ["float32", "int8", "greedy", "by loss for time", "searched"]
    by_name = {each.name: each for each in report.compared}
    assert by_name["searched"].ratio <= min(1.0, by_name["greedy"].ratio)
    assert by_name["greedy"].loss <= most
    assert "of float32" in str(report) and len(report.to_json()["compared"]) == 5
    assert all(each.saved is not None for each in report.layers)
    assert lines[0] == "4 layers in float32 or int8, loss at most 0.012; up to 120 s"


def test_a_second_run_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, reports = bound(IMAGES), [rt.QuantizationReport() for _ in range(2)]
    given = {"calibration": images(16), "max_loss": 0.02, "log": tmp_path / "tuning.db", **OPTIONS}
    first = rt.quantize(module, details=reports[0], **given)

    def measured(self: NativeTrials, choices: object, turns: int) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(NativeTrials, "measured", measured)
    second = rt.quantize(module, details=reports[1], **given)
    assert rt.structural_equal(first, second)
    assert reports[0].compared == reports[1].compared


def test_a_bound_that_nothing_keeps_leaves_float32() -> None:
    module, report = bound(IMAGES), rt.QuantizationReport()
    result = rt.quantize(module, calibration=images(16), max_loss=1e-9, details=report, **OPTIONS)
    assert report.loss == 0.0 and report.bytes_after == report.bytes_before
    assert {each.precision for each in report.layers} == {"float32"}
    assert any("no choice that was tried has a loss of at most 1e-09" in n for n in report.notes)
    assert "qnn." not in result.astext()


def test_a_loss_of_ones_own_and_few_samples() -> None:
    def loss(expected: list[np.ndarray], found: list[np.ndarray]) -> float:
        return float(np.abs(expected[0] - found[0]).max())

    report = rt.QuantizationReport()
    given = {"max_loss": 1e9, "loss": loss, "details": report}
    rt.quantize(bound(IMAGES), calibration=images(4), **given, **OPTIONS)
    assert report.loss <= 1e9
    assert any("is that of the samples that ranges come from" in note for note in report.notes)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_loss": None}, "no bound on the loss, which 'auto' needs"),
        ({"calibration": None}, "no calibration data, which 'auto' needs"),
        ({"minutes": 0}, "minutes is 0, but must be a finite number above 0"),
        ({"minutes": float("nan")}, "minutes is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"scheme": "int8"}, "minutes is for the scheme 'auto'"),
        ({"scheme": "automatic"}, "no scheme 'automatic'"),
        ({"report": 3}, "report must be a function"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rt.quantize(
            bound(IMAGES), **{"calibration": images(4), "max_loss": 0.1, **OPTIONS, **options}
        )


def test_a_log_that_is_none_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "tuning.db").write_text("no log")
    with pytest.raises(InputError, match="not a tuning log"):
        rt.quantize(
            bound(IMAGES),
            calibration=images(4),
            max_loss=0.1,
            log=tmp_path / "tuning.db",
            **OPTIONS,
        )
