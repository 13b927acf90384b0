"""Broken text ends in a ParseError that can be shown, never in anything else."""

from __future__ import annotations

import random
import re
from pathlib import Path

from relay_tune.errors import ParseError
from relay_tune.ir.parser.parse import parse
from tests.properties import toy_operators

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "language.md").read_text()
TEXTS = re.findall(r"```relay\n(.*?)```", PAGE, re.DOTALL)
PIECES = [re.findall(r"\w+|\s+|.", text, re.DOTALL) for text in TEXTS]
POOL = [piece for pieces in PIECES for piece in pieces]
assert toy_operators.ADD


def mutated(chance: random.Random) -> str:
    pieces = list(chance.choice(PIECES))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(pieces))
        match chance.randrange(3):
            case 0:
                pieces[place] = ""
            case 1:
                pieces.insert(place, chance.choice(POOL))
            case _:
                pieces[place] = chance.choice(POOL)
    end = len(pieces) if chance.random() < 0.8 else chance.randrange(len(pieces))
    return "".join(pieces[:end])


def test_mutated_programs_are_read_or_refused() -> None:
    chance = random.Random(20)
    refused = 0
    for _ in range(1500):
        try:
            parse(mutated(chance))
        except ParseError as error:
            refused += 1
            assert str(error).startswith("from_string:")
    assert refused > 500
