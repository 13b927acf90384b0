"""Infix symbols stand for toy operators in the tests of the language, unless real ones exist."""

from __future__ import annotations

import pytest

from relay_tune.ir import operator
from tests.properties.toy_operators import INFIX


@pytest.fixture
def infix_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, toy in INFIX.items():
        monkeypatch.setitem(operator._TABLE, name, toy)
