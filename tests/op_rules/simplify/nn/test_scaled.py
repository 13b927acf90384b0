"""Scalar factors of operands of products move to the results."""

import numpy as np
import pytest

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, operator_name
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

A, B = "%a: Tensor[(2, 8, 16), {}]", "%b: Tensor[(2, 8, 16), {}]"


def _module(body: str, dtype: str = "float32") -> Module:
    return infer_types(parse(f"def @main({A}, {B}) {{ {body} }}".replace("{}", dtype)))


def _operands(module: Module) -> set[str | None]:
    """The operators that compute operands of the product."""
    products = [operator_call(node, "nn.batch_matmul") for node in post_order(module.main)]
    return {operator_name(operand) for call in products if call for operand in call.arguments}


@pytest.mark.parametrize(
    "body",
    [
        "nn.softmax(nn.batch_matmul(%a * 0.125f, %b))",
        "nn.batch_matmul(%a, 3f * %b)",
        "nn.batch_matmul(%a * 2f, %b * 0.5f)",
    ],
)
def test_the_result_is_multiplied(body: str) -> None:
    before = _module(body)
    after = SimplifyExpression()(before)
    assert _operands(after) == {None}
    a, b = np.random.default_rng(0).standard_normal((2, 2, 8, 16)).astype(np.float32)
    np.testing.assert_allclose(
        interpret(after, a, b), np.asarray(interpret(before, a, b)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("nn.batch_matmul(%a * 1e30f, %b)", "float32"),
        ("nn.batch_matmul(%a * sum(%a), %b)", "float32"),
        ("nn.batch_matmul(%a * 0.125f16, %b)", "float16"),
    ],
)
def test_other_factors_stay(body: str, dtype: str) -> None:
    assert "multiply" in _operands(SimplifyExpression()(_module(body, dtype)))
