from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError
from relay_tune.quantization.loss import output_error
from relay_tune.tuning import turns
from relay_tune.tuning.precision import native_trials
from relay_tune.tuning.precision.native_trials import NativeTrials
from relay_tune.tuning.precision.quantize import multiplies_bfloat16, multiplies_bounded_bytes
from tests.quantization.networks import IMAGES, bound, images

OPTIONS = {"scheme": "auto", "method": "minmax", "threads": 1, "minutes": 2.0}


BOUNDED = {"calibration": images(16), "max_loss": 0.012}


def shorten_turns(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(native_trials, "TURN_SECONDS", 0.0)
    patch.setattr(turns, "PAUSE_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_turns(monkeypatch)


@dataclass(frozen=True)
class Run:
    """A search with a bound of 0.012, what it told, and its log."""

    module: rt.Module
    result: rt.Module
    report: rt.QuantizationReport
    lines: list[str]
    log: Path


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    module, report, lines = bound(IMAGES), rt.QuantizationReport(), list[str]()
    log = tmp_path_factory.mktemp("searched") / "tuning.db"
    told = {"details": report, "report": lines.append, "log": log}
    with pytest.MonkeyPatch.context() as patch:
        shorten_turns(patch)
        result = rt.quantize(module, **BOUNDED, **told, **OPTIONS)
    return Run(module, result, report, lines, log)


def test_the_bound_is_kept_on_samples_that_ranges_do_not_come_from(first_run: Run) -> None:
    module, report, most = first_run.module, first_run.report, BOUNDED["max_loss"]
    assert 0 <= report.loss <= most
    held_out = images(16)[::4]
    expected = [rt.interpret(module, x) for x in held_out]
    built = rt.build(first_run.result, threads=1)
    found = [built(x) for x in held_out]
    losses = [output_error([one], [other]) for one, other in zip(expected, found, strict=True)]
    assert np.mean(losses) == pytest.approx(report.loss, abs=0.003)
    names = [each.name for each in report.compared]
    wide = ["bfloat16"] if multiplies_bfloat16() else []
    small = ["int7"] if multiplies_bounded_bytes() else []
    assert names == ["float32", "int8", "greedy", *wide, *small, "by loss for time", "searched"]
    by_name = {each.name: each for each in report.compared}
    assert by_name["searched"].ratio <= min(1.0, by_name["greedy"].ratio)
    assert by_name["greedy"].loss <= most
    assert "of float32" in str(report) and len(report.to_json()["compared"]) == len(names)
    assert all(each.saved is not None for each in report.layers)
    *kinds, last = "float32", *wide, "int8", *small
    beginning = f"4 layers in {', '.join(kinds)} or {last}, loss at most 0.012; up to 120 s"
    assert first_run.lines[0] == beginning


def test_a_second_run_builds_nothing(first_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(self: NativeTrials, choices: object, turns: int) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(NativeTrials, "measured", measured)
    report = rt.QuantizationReport()
    told = {"details": report, "log": first_run.log}
    second = rt.quantize(bound(IMAGES), **BOUNDED, **told, **OPTIONS)
    assert rt.structural_equal(first_run.result, second)
    assert report.compared == first_run.report.compared


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
