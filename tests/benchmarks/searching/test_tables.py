"""Tables of earlier versions in the choices of the present one; rows that are measured again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from benchmarks.searching import tables as search_tables
from benchmarks.searching.described_tables import converted
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.tuning.runner import NativeRunner
from search import Choice, Condition, Genome, SearchTable, Space
from search.table import TableRow

OLD = Space(
    (
        Choice("algorithm", ("direct", "rows4")),
        Choice("direct.unroll", (1, 2), Condition("algorithm", "direct")),
        Choice("rows4.unroll", (1, 2, 4), Condition("algorithm", "rows4")),
    )
)
NEW = Space(
    (
        Choice("algorithm", ("rows4", "split", "direct")),
        Choice("rows4.unroll", (2, 4, 8), Condition("algorithm", "rows4")),
        Choice("split.unroll", (1, 2), Condition("algorithm", "split"), idle=1),
    ),
)


def test_values_keep_their_meaning() -> None:
    genome = OLD.encode({"algorithm": "rows4", "direct.unroll": 1, "rows4.unroll": 4})
    found = converted(OLD, genome, NEW)
    assert found is not None
    assert NEW.decode(found) == {"algorithm": "rows4", "rows4.unroll": 4, "split.unroll": 2}


def test_what_is_no_longer_there_is_dropped() -> None:
    gone = OLD.encode({"algorithm": "rows4", "direct.unroll": 1, "rows4.unroll": 1})
    unnamed = OLD.encode({"algorithm": "direct", "direct.unroll": 2, "rows4.unroll": 1})
    assert converted(OLD, gone, NEW) is None
    assert converted(OLD, unnamed, NEW) is None


def test_what_is_not_sensible_any_more_is_dropped() -> None:
    narrow = Space(NEW.choices, lambda genome: genome[1] == 0)
    genome = OLD.encode({"algorithm": "rows4", "direct.unroll": 1, "rows4.unroll": 4})
    assert converted(OLD, genome, narrow) is None


@dataclass
class HalfSpeed:
    """Stands in for a runner on a machine that has become half as fast."""

    seconds: dict[Genome, float]

    def draft(self, task: object, schedule: Genome) -> Genome:
        return schedule

    def prepare(self, task: object, drafts: list[Genome], best: None) -> list[Genome]:
        return drafts

    def measure(self, task: object, prepared: Genome, best: None) -> Measurement:
        return Measurement(Outcome.OK, 2 * self.seconds[prepared])


def test_what_was_lucky_once_is_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    true = {(place,): 1.0 + place / 50 for place in range(100)}
    rows = [TableRow(genome, (), 0.5 if genome == (7,) else true[genome]) for genome in true]
    table = SearchTable("matmul_512", (Choice("place", tuple(range(100))),), tuple(rows))

    class Genomes:
        def schedule(self, genome: Genome) -> Genome:
            return genome

    monkeypatch.setattr(search_tables, "replayed_task_of", lambda *_: (None, Genomes()))
    found = search_tables.confirmed(table, Path("table.json"), cast(NativeRunner, HalfSpeed(true)))
    assert {row.genome: row.seconds for row in found.rows} == pytest.approx(true)
