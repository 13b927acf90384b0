"""Tables of measured candidates, to try strategies on without measuring again.

A table is a JSON file:

    {"task": "matmul_512x512x512",
     "choices": [{"name": "algorithm", "values": ["direct", "winograd2"]},
                 {"name": "rows", "values": [1, 2, 4], "if": ["algorithm", "direct"]}, ...],
     "features": ["log_rows", "is_spilling", ...],
     "rows": [[[0, 2, ...], [9.0, 1.0, ...], 0.00105], ...]}

Each row holds a genome (one index for each choice), the features of the candidate and its run
time in seconds, or null where it failed. An array among the values of a choice stands for a tuple;
`if` names the choice and the value on which a choice depends, `idle` its index where it does not
count (0 where that is left out). `features`, the names of the features, may be left out too.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.choice import Choice, Condition
from search.errors import SearchError
from search.listed_space import ListedSpace
from search.space import Genome, Space


@dataclass(frozen=True, slots=True)
class TableRow:
    """A measured candidate; seconds is None where it failed."""

    genome: Genome
    features: tuple[float, ...]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Measured candidates of one task; `feature_names` is empty where nobody named them."""

    task: str
    choices: tuple[Choice, ...]
    rows: tuple[TableRow, ...]
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        grid = Space(self.choices)
        for row in self.rows:
            grid.check(row.genome)
            if row.seconds is not None and not (math.isfinite(row.seconds) and row.seconds > 0):
                raise SearchError(f"table {self.task!r}: {row.seconds} seconds in {row.genome}")
            if len(row.features) != len(self.feature_names or row.features):
                raise SearchError(
                    f"table {self.task!r}: {row.genome} has {len(row.features)} features, "
                    f"but {len(self.feature_names)} are named"
                )
        if len({row.genome for row in self.rows}) < len(self.rows):
            raise SearchError(f"table {self.task!r} has a genome twice")
        if all(row.seconds is None for row in self.rows):
            raise SearchError(f"table {self.task!r} has no row with a run time")

    @property
    def space(self) -> ListedSpace:
        """The rows of the table as a space."""
        return ListedSpace(self.choices, listed=tuple(row.genome for row in self.rows))

    @property
    def throughputs(self) -> dict[Genome, float | None]:
        """Throughput of each candidate as a share of the best (1.0), None where it failed."""
        fastest = min(row.seconds for row in self.rows if row.seconds is not None)
        return {row.genome: row.seconds and fastest / row.seconds for row in self.rows}

    @property
    def features(self) -> dict[Genome, tuple[float, ...]]:
        """Features of each candidate."""
        return {row.genome: row.features for row in self.rows}


def save_table(table: SearchTable, path: str | Path) -> None:
    """Write a table to a JSON file."""
    document = {
        "task": table.task,
        "choices": [_choice_fields(choice) for choice in table.choices],
        "features": table.feature_names,
        "rows": [[row.genome, row.features, row.seconds] for row in table.rows],
    }
    Path(path).write_text(json.dumps(document), encoding="utf-8")


def load_table(path: str | Path) -> SearchTable:
    """Read a table; `SearchError` where the file is not one."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        choices = tuple(_as_choice(**fields) for fields in document["choices"])
        rows = tuple(_as_row(*row) for row in document["rows"])
        names = tuple(str(name) for name in document.get("features", ()))
        return SearchTable(str(document["task"]), choices, rows, names)
    except (ValueError, TypeError, KeyError) as error:
        raise SearchError(f"{path} is not a search table: {error!r}") from error


def _choice_fields(choice: Choice) -> dict[str, object]:
    fields: dict[str, object] = {"name": choice.name, "values": choice.values}
    if choice.condition is not None:
        fields["if"] = [choice.condition.name, choice.condition.value]
    if choice.idle:
        fields["idle"] = choice.idle
    return fields


def _as_choice(name: str, values: Sequence[Any], idle: int = 0, **condition: Any) -> Choice:
    wanted = None
    if condition:
        parent, value = condition.pop("if")
        wanted = Condition(str(parent), _as_value(value))
    if condition:
        raise TypeError(f"a choice has unknown fields: {', '.join(condition)}")
    return Choice(str(name), tuple(_as_value(value) for value in values), wanted, int(idle))


def _as_value(value: Any) -> object:
    return tuple(_as_value(part) for part in value) if isinstance(value, list) else value


def _as_row(genome: Sequence[int], features: Sequence[float], seconds: float | None) -> TableRow:
    return TableRow(
        tuple(int(gene) for gene in genome),
        tuple(float(feature) for feature in features),
        None if seconds is None else float(seconds),
    )
