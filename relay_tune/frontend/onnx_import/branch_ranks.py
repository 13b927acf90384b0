"""Branches whose results differ in rank: which rank the rest of a file is written for.

    squeeze(x, 1) as torch writes it:     y = If(size of axis 1 == 1, Squeeze(x, 1), x)

Types have one rank. Where the results of branches differ by axes that may be of size 1, the model
is translated with the rank of the one branch and with that of the other, until it has a translation
in which outputs have the ranks that the file declares. A result of the other branch is reshaped to
the sizes of the chosen one; a run in which such an axis is not of size 1 ends in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeVar

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.quick_dataclass import dataclass

MOST_TRIALS = 8
"""Translations of one model."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BranchRanks:
    """For nodes by name, the branch (0: then, 1: else) whose ranks results have.

    Attributes:
        chosen: the branches.
        undecided: names of nodes that need one and have none.
    """

    chosen: Mapping[str, int] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)

    def of(self, name: str) -> int | None:
        """The branch of a node; None, which is noted, where none is chosen."""
        if name not in self.chosen:
            self.undecided.append(name)
        return self.chosen.get(name)


def with_branch_ranks(translate: Callable[[BranchRanks], Result]) -> Result:
    """The first translation that succeeds; if none does, the error of the first."""
    ranks = BranchRanks()
    try:
        return translate(ranks)
    except (ModelError, UnsupportedOperatorError):
        found = _with_choices(translate, ranks)
        if not found:
            raise
        return found[0]


def _with_choices(translate: Callable[[BranchRanks], Result], first: BranchRanks) -> list[Result]:
    pending = _decided(first)
    for _ in range(MOST_TRIALS):
        if not pending:
            break
        ranks = pending.pop(0)
        try:
            return [translate(ranks)]
        except (ModelError, UnsupportedOperatorError):
            pending = _decided(ranks) + pending
    return []


def _decided(ranks: BranchRanks) -> list[BranchRanks]:
    """One more node decided, both ways."""
    names = ranks.undecided[:1]
    return [BranchRanks({**ranks.chosen, name: branch}) for name in names for branch in (0, 1)]
