"""Products that are written anew so that operators that work row by row run together."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

MATRICES = "%x: Tensor[(2, 6, 5), float32], %v: Tensor[(2, 3, 5), float32]"
COLUMNS = "%x: Tensor[(2, 6, 5), float32], %v: Tensor[(2, 5, 3), float32]"
TURNED = "transpose(nn.softmax(%x), axes=[0, 2, 1])"


def simplified(parameters: str, body: str):  # type: ignore[no-untyped-def]
    return SimplifyExpression()(typed(parameters, body))


def typed(parameters: str, body: str):  # type: ignore[no-untyped-def]
    return infer_types(parse(f"def @main({parameters}) {{ {body} }}"))


@pytest.mark.parametrize(
    ("parameters", "before", "after"),
    [
        (MATRICES, f"nn.batch_matmul(%v, {TURNED}, transpose_b=False)", "transpose_b=True"),
        (
            COLUMNS,
            f"nn.batch_matmul(%v, {TURNED}, transpose_a=True, transpose_b=False)",
            "transpose_b=False",
        ),
    ],
)
def test_shares_come_first(parameters: str, before: str, after: str) -> None:
    product = f"nn.batch_matmul(nn.softmax(%x), %v, transpose_a=False, {after})"
    expected = typed(parameters, f"transpose({product}, axes=[0, 2, 1])")
    assert structural_equal(simplified(parameters, before), expected)


@pytest.mark.parametrize(
    "kept",
    [
        "nn.batch_matmul(%v, transpose(nn.relu(%x), axes=[0, 2, 1]), transpose_b=False)",
        "nn.batch_matmul(%v, transpose(nn.softmax(%x, axis=1), axes=[0, 2, 1]), transpose_b=False)",
    ],
)
def test_other_products_are_kept(kept: str) -> None:
    assert structural_equal(simplified(MATRICES, kept), typed(MATRICES, kept))


def test_attention_over_channels_first_images_is_one_primitive() -> None:
    text = """
    def @main(%q: Tensor[(1, 2, 8, 36), float32], %k: Tensor[(1, 2, 8, 36), float32],
              %v: Tensor[(1, 2, 8, 36), float32]) {
      let %scores = nn.batch_matmul(transpose(%q, axes=[0, 1, 3, 2]), %k, transpose_b=False);
      let %turned = transpose(nn.softmax(%scores), axes=[0, 1, 3, 2]);
      nn.batch_matmul(%v, %turned, transpose_b=False)
    }"""
    module = parse(text)
    body = default_pipeline()(module).main.body
    primitives = [
        node.callee
        for node in post_order(body)
        if isinstance(node, Call) and isinstance(node.callee, Function)
    ]
    products = [
        sum("batch_matmul" in str(getattr(inner, "callee", "")) for inner in post_order(p.body))
        for p in primitives
    ]
    assert sorted(products)[-1] == 2
    values = np.random.default_rng(0).standard_normal((3, 1, 2, 8, 36)).astype(np.float32)
    found, expected = build(module)(*values), interpret(module, *values)
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-5)
