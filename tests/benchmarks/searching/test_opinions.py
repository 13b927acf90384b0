"""Opinions of a model stand for measurements that are lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.searching import chosen_schedules
from benchmarks.searching import opinions as tested
from benchmarks.searching.described_logs import Described, trained
from benchmarks.searching.opinions import opinion, opinions
from cost_model import rank_correlation
from relay_tune.codegen.target import parse_target
from relay_tune.ir.parser.parse import parse
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks

PLACE = 7

PRODUCT = """
def @main(%x: Tensor[(16, 24), float32], %w: Tensor[(32, 24), float32]) { nn.dense(%x, %w) }
"""


def rows(seed: int) -> list[list[float]]:
    generator = random.Random(seed)
    return [[generator.random() for _ in FEATURE_NAMES] for _ in range(32)]


def known() -> list[Described]:
    """Tasks whose schedules are the better the larger one feature is."""
    drawn = [rows(seed) for seed in range(10)]
    return [
        Described(f"task{n}", found, [0.1 + row[PLACE] for row in found])
        for n, found in enumerate(drawn)
    ]


def test_an_opinion_ranks_as_its_model_does_and_is_a_share_of_the_best() -> None:
    model, features = trained(known()), rows(50)
    found = opinion(model, "new", features)
    shares = [share or 0.0 for share in found.throughputs]
    assert found.task == "new" and found.features == features
    assert max(shares) == 1.0 and min(shares) > 0.0
    scores = model.predict(features, [estimated_throughput(row) for row in features])
    assert rank_correlation(shares, scores) == pytest.approx(1.0)


def test_schedules_are_described_as_the_other_machine_would_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small,) = extract_tasks(default_pipeline()(parse(PRODUCT)))

    def one_task() -> Iterator[Task]:
        yield small

    monkeypatch.setattr(tested, "block_tasks", one_task)
    monkeypatch.setattr(chosen_schedules, "DRAWN_FROM", 16)
    monkeypatch.setattr(chosen_schedules, "SCHEDULES", 8)
    trained(known()).save(tmp_path / "model.json")
    target = parse_target("x86_64-linux-gnu:haswell")
    (found,) = opinions(tmp_path / "model.json", target)
    assert found.task == small.key.digest
    assert len(found.features) == len(found.throughputs) == 8
    assert all(len(row) == len(FEATURE_NAMES) for row in found.features)
    (other,) = opinions(tmp_path / "model.json", parse_target("x86_64-linux-gnu:sapphirerapids"))
    assert other.features != found.features
