"""Operators that are others under another name."""

import pytest

from relay_tune.ir.expr import Call, Var
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import operator_name

NAMES = {
    "fast_exp": "exp",
    "fast_tanh": "tanh",
    "fast_erf": "erf",
    "nn.fast_softmax": "nn.softmax",
    "trunc_mod": "mod",
    "nn.contrib_conv2d_NCHWc": "nn.conv2d",
    "nn.contrib_depthwise_conv2d_NCHWc": "nn.conv2d",
}


@pytest.mark.parametrize(("name", "other"), NAMES.items())
def test_the_composition_is_the_other_operator(name: str, other: str) -> None:
    operator = find_operator(name)
    assert operator is not None and operator.compute is None and operator.composition is not None
    arguments = tuple(Var(argument) for argument in operator.arguments)
    call = operator.composition(operator.attributes(), arguments, ())
    assert isinstance(call, Call) and call.arguments == arguments
    assert operator_name(call) == other
    assert {**vars(call.attributes)} == {**vars(operator.attributes())}


def test_a_cast_to_the_type_of_another_reads_its_type_only() -> None:
    operator = find_operator("cast_like")
    assert operator is not None and operator.composition is not None
    x, like = (Var(name, TensorType((2,), dtype)) for name, dtype in (("x", "int8"), ("y", "bool")))
    call = operator.composition(operator.attributes(), (x, like), (x.annotation, like.annotation))
    assert operator_name(call) == "cast"
    assert isinstance(call, Call) and call.arguments == (x,)
    assert vars(call.attributes) == {"dtype": "bool"}
