"""Curves of time to quality: what they hold, and what the strategies are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.searching.curves import Curve, Unscored, read_curve, report
from search import Choice, Genome, RandomSearch, Space

CURVE = Curve("net", "model", 0, 2, ((1.0, 0.010), (2.0, 0.008), (3.0, 0.006), (4.0, 0.006)))


def test_a_curve_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    path.write_text(json.dumps(asdict(CURVE)))
    assert read_curve(path) == CURVE


def test_the_first_trial_that_is_fast_enough_counts() -> None:
    assert CURVE.best == 0.006
    assert CURVE.reached(0.0085) == (2, 2.0)
    assert CURVE.reached(0.005) is None


def test_curves_are_compared_with_the_best_of_their_network(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow = replace(CURVE, strategy="random", points=((1.0, 0.010), (2.0, 0.009)))
    report([CURVE, slow, replace(slow, network="other")])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert ["trial 3, 3 s" in lines[0], "never" in lines[1], "trial 2, 2 s" in lines[2]] == [
        True
    ] * 3


def test_a_search_without_a_model_sees_no_scores() -> None:
    def score(genomes: Sequence[Genome]) -> Sequence[float]:
        raise AssertionError("asked for a prediction")

    search = Unscored(RandomSearch(Space((Choice("place", (1, 2, 3)),)), 0))
    (genome,) = search.propose(1, score)
    search.tell(genome, 2.0)
    assert search.best == (genome, 2.0)
