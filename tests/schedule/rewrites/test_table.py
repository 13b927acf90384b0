"""The table of algorithms, and the one that docs/extending.md adds to it."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT
from relay_tune.schedule.rewrites.table import ALGORITHMS, Algorithms
from tests.documented_diffs import apply_diff, documented_diff


def test_names_are_those_of_one_algorithm_each() -> None:
    names = [each.name for each in ALGORITHMS]
    assert len(names) == len(set(names))
    assert "direct" not in names
    for number, each in enumerate(ALGORITHMS):
        assert set(each.follows) <= set(ALGORITHMS[:number])


def test_an_algorithm_from_outside_is_a_file_and_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_diff(documented_diff("extending.md", "mine/exchanged.py"), tmp_path)
    monkeypatch.setattr(ALGORITHMS, "_known", tuple(ALGORITHMS))
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("mine.test_exchanged")
    for each in ("mine", "mine.exchanged", "mine.test_exchanged"):
        monkeypatch.setitem(sys.modules, each, sys.modules.pop(each))
    assert ALGORITHMS[-1].name == "mine.exchanged"
    theirs.test_it_is_offered_and_runs()


def test_names_are_taken_once_and_others_are_there_before() -> None:
    own = Algorithms(SPLIT)
    with pytest.raises(InputError, match="There is an algorithm 'split' already"):
        own.add(SPLIT)
    with pytest.raises(InputError, match="There is an algorithm 'direct' already"):
        own.add(replace(SPLIT, name="direct"))
    with pytest.raises(InputError, match="mine follows rows, which is not known"):
        own.add(replace(SPLIT, name="mine", follows=(ROWS,)))
