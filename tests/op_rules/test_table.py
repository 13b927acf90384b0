"""Tables of rules: who has one, and what is refused."""

import operator

import pytest

from relay_tune.errors import InputError
from relay_tune.ir.expr import Var
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call

X = Var("x", type=TensorType((2, 3), "float32"))


def test_a_call_has_the_rule_of_its_operator() -> None:
    table = OperatorTable({"exp": "e"}, {"log": "l"})
    assert table.rule_of(call("exp", X)) == "e"
    assert table.rule_of(call("tanh", X)) is None
    assert table.rule_of(X) is None
    assert table.operators() == ("exp", "log")


def test_a_rule_is_added_by_name_or_by_record() -> None:
    table: OperatorTable[int] = OperatorTable()
    record = find_operator("exp")
    assert record is not None
    table.add(1, record, "log")
    assert table.rule_of(call("exp", X)) == table.rule_of(call("log", X)) == 1


def test_an_operator_that_nobody_registered_has_no_rule() -> None:
    with pytest.raises(InputError, match=r"operator nn\.conv2e, which is not registered"):
        OperatorTable({"nn.conv2e": 1})


def test_a_second_rule_is_refused_or_combined() -> None:
    with pytest.raises(InputError, match="exp has a rule in this table already"):
        OperatorTable({"exp": 1}, {"exp": 2})
    combined = OperatorTable({"exp": (1,)}, {"exp": (2, 3)}, combine=operator.add)
    assert combined.rule_of(call("exp", X)) == (1, 2, 3)
