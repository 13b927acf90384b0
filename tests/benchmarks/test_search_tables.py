"""Tables of an earlier version are described in the choices of the present one."""

from __future__ import annotations

from benchmarks.search_tables import converted
from search import Choice, Condition, Space

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
