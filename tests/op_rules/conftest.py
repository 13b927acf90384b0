"""Operators of somebody else, which are forgotten after a test."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from relay_tune.ir.operator import Operator, find_operator, register
from relay_tune.ir.operator_table import OPERATORS
from relay_tune.op_rules.fold.layers import LAYERS
from relay_tune.op_rules.fusion.table import FUSION
from relay_tune.op_rules.layout.table import LAYOUT
from relay_tune.op_rules.padding import PADDING
from relay_tune.op_rules.quantize.table import AFFINE
from relay_tune.op_rules.simplify.table import SIMPLIFY

TABLES = (AFFINE, FUSION, LAYERS, LAYOUT, PADDING, SIMPLIFY)

Copy = Callable[[str, str], Operator]


@pytest.fixture
def copied_operator() -> Iterator[Copy]:
    """copied_operator(name, new name): an operator that only its name tells from another.

    Operators that the test registers, and their rules, are forgotten after it.
    """
    before = set(OPERATORS)

    def copied(name: str, new_name: str) -> Operator:
        operator = find_operator(name)
        assert operator is not None
        return register(replace(operator, name=new_name))

    yield copied
    for name in set(OPERATORS) - before:
        del OPERATORS[name]
        for table in TABLES:
            table._rules.pop(name, None)
