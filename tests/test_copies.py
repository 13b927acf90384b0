"""What copy and pickle do with modules and models."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.load import load

TEXTS = {
    "network": "def @main(%x: Tensor[(2), float32]) { %x + %x }",
    "sizes": "def @main(%x: Tensor[(n, 2), float32]) { %x + %x }",
    "program": "def @main(%x: float32) { if (%x < 1f) { %x } else { %x * 2f } }",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_copies_of_modules_are_the_module(text: str) -> None:
    module = parse(f'#[version = "0.0.5"]\n{text}')
    assert copy.copy(module) is module
    assert copy.deepcopy({"a": [module]})["a"][0] is module
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(InputError, match="Module cannot be pickled") as caught:
            pickle.dumps(module, protocol)
        assert "rt.to_json" in caught.value.render()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_models_say_why_they_are_not_copied(text: str, tmp_path: Path) -> None:
    model = build(parse(f'#[version = "0.0.5"]\n{text}'), threads=1)
    model.export(tmp_path / "model.so")
    for each in (model, load(tmp_path / "model.so")):
        with pytest.raises(InputError, match="cannot be pickled") as caught:
            pickle.dumps([each])
        assert "model.export" in caught.value.render()
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(InputError, match="cannot be copied"):
                copied(each)
