"""Damaged programs are typed, or refused with the place of the damage: no crash, no hang."""

from __future__ import annotations

import random
from collections import Counter

from benchmarks.fuzzing.damaged_programs import mutated, outcome, programs


def test_mutated_programs_are_typed_or_refused_with_a_place() -> None:
    texts = list(programs().values())
    counts: Counter[str] = Counter()
    for seed in range(500):
        chance = random.Random(seed)
        counts[outcome(mutated(chance.choice(texts), texts, chance))] += 1
    assert counts.keys() == {"accepted", "refused"}, counts
    assert counts["refused"] > 300


def test_the_programs_that_are_damaged_are_as_they_should_be() -> None:
    """Those that are right in themselves have types and are read back."""
    found = programs()
    names = ["prelude", "char_rnn", "lstm_list", "gru_list", "tree_lstm", "seq2seq"]
    assert [outcome(found[name]) for name in names] == ["accepted"] * len(names)
