"""Modules as JSON: an exact round trip, and hostile files are refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import relay_tune.op
from relay_tune import zoo
from relay_tune.errors import ParseError
from relay_tune.ir.expr import Constant, Function
from relay_tune.ir.json_form import from_json, to_json
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference
from relay_tune.std import prelude

assert relay_tune.op.__doc__  # the programs use its operators
TEXT = """
def @main(%x: Tensor[(2), float32]) { %x + meta[relay.Constant][0] }
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}]}
"""
MODULES = [
    parse(TEXT),
    parse('#[attributes(origin="#[metadata] in a name")]\ndef @main() { 1 }'),
    prelude(),
    Module({}),
]


@pytest.mark.parametrize("module", [*MODULES, *(zoo.build("char_rnn", small=True),)])
def test_round_trip(module: Module) -> None:
    text = to_json(module)
    assert first_difference(from_json(text), module) is None
    assert to_json(from_json(text)) == text


def test_form() -> None:
    document = json.loads(to_json(MODULES[0]))
    assert (document["format"], document["version"]) == ("relay_tune", 1)
    assert document["constants"][0]["shape"] == [2]


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(to_json(MODULES[0])), **fields})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON object"),
        ("[" * 100_000, "is no JSON object"),
        ("[]", "is no JSON object"),
        ('{"graph": {}}', "is no JSON object"),
        (changed(version=2), "has the version 2; only 1 can be read"),
        (changed(version=True), "has the version True"),
        (changed(extra=1), "has not just the keys"),
        (changed(program=3), "has a program that is not the text of one"),
        (changed(program="def @main() { %x }"), "There is no variable %x"),
        (changed(program="def @main() { 1 }\n#[metadata]\n{}"), "is not JSON"),
        (changed(constants=[]), "There is no constant 0"),
        (changed(constants=3), "is not a list"),
        (changed(constants=[{"dtype": "object", "shape": [], "data": ""}]), "unknown dtype"),
        (changed(constants=[{"dtype": "int8", "shape": [2**60], "data": ""}]), "has 0 byte"),
    ],
)
def test_hostile_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        from_json(text)


def test_mutated_texts_are_read_or_refused() -> None:
    chance, refused = random.Random(4), 0
    text = to_json(zoo.build("tree_lstm", small=True))
    for _ in range(200):
        at = chance.randrange(len(text))
        mutated = text[:at] + chance.choice('"{}[]%@,:0x') + text[at + chance.randrange(3) :]
        try:
            from_json(mutated)
        except ParseError:
            refused += 1
    assert refused > 50


def test_numbers_keep_their_bits() -> None:
    data = np.array([np.nan, -0.0, np.inf], "float32")
    module = Module.from_function(Function((), Constant(data)))
    body = from_json(to_json(module)).main.body
    assert isinstance(body, Constant)
    assert body.data.tobytes() == data.tobytes()
