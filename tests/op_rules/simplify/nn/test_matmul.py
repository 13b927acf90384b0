"""Products that are written anew so that operators that work row by row run together."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

MATRICES = "%x: Tensor[(2, 6, 5), float32], %v: Tensor[(2, 3, 5), float32]"
COLUMNS = "%x: Tensor[(2, 6, 5), float32], %v: Tensor[(2, 5, 3), float32]"


def simplified(parameters: str, body: str) -> Module:
    return SimplifyExpression()(typed(parameters, body))


def typed(parameters: str, body: str) -> Module:
    return infer_types(parse(f"def @main({parameters}) {{ {body} }}"))


SWAPPED = "axes=[0, 2, 1]"


@pytest.mark.parametrize("rows", ["nn.softmax(%x)", "nn.relu(%x)", "%x"])
@pytest.mark.parametrize(
    ("parameters", "flags", "after"),
    [(MATRICES, "", "transpose_b=True"), (COLUMNS, "transpose_a=True, ", "transpose_b=False")],
)
def test_a_small_result_is_transposed_instead_of_a_large_operand(
    rows: str, parameters: str, flags: str, after: str
) -> None:
    turned = f"transpose({rows}, {SWAPPED})"
    before = f"nn.batch_matmul(%v, {turned}, {flags}transpose_b=False)"
    product = f"nn.batch_matmul({rows}, %v, transpose_a=False, {after})"
    expected = typed(parameters, f"transpose({product}, {SWAPPED})")
    assert structural_equal(simplified(parameters, before), expected)


@pytest.mark.parametrize(
    ("x", "before", "after"),
    [("(2, 6, 5)", "False", "True"), ("(2, 5, 6)", "True", "False")],
)
def test_a_product_takes_a_transposition_where_its_result_is_not_smaller(
    x: str, before: str, after: str
) -> None:
    parameters = f"%x: Tensor[{x}, float32], %v: Tensor[(2, 7, 5), float32]"
    turned = f"nn.batch_matmul(%v, transpose(%x, {SWAPPED}), transpose_b={before})"
    expected = typed(parameters, f"nn.batch_matmul(%v, %x, transpose_b={after})")
    assert structural_equal(simplified(parameters, turned), expected)


def test_the_element_type_of_the_result_is_kept() -> None:
    parameters = MATRICES.replace("float32", "int8")
    turned = f"transpose(%x, {SWAPPED})"
    before = f'nn.batch_matmul(%v, {turned}, transpose_b=False, out_dtype="int32")'
    product = 'nn.batch_matmul(%x, %v, transpose_b=True, out_dtype="int32")'
    expected = typed(parameters, f"transpose({product}, {SWAPPED})")
    assert structural_equal(simplified(parameters, before), expected)


def test_other_transpositions_are_kept() -> None:
    parameters = "%x: Tensor[(6, 2, 5), float32], %v: Tensor[(2, 3, 5), float32]"
    kept = "nn.batch_matmul(%v, transpose(%x, axes=[1, 2, 0]), transpose_b=False)"
    assert structural_equal(simplified(parameters, kept), typed(parameters, kept))


@pytest.mark.parametrize("rows", ["(7, 5)", "(2, 7, 5)"])
@pytest.mark.parametrize(("weight", "flag"), [("(3, 5)", ""), ("(5, 3)", ", transpose_b=True")])
def test_a_weight_is_read_as_it_is(rows: str, weight: str, flag: str) -> None:
    parameters = f"%x: Tensor[{rows}, float32], %w: Tensor[{weight}, float32]"
    before = f"nn.matmul(%x, transpose(%w, axes=[1, 0]){flag})"
    after = f"nn.matmul(%x, %w, transpose_b={not flag})"
    assert structural_equal(simplified(parameters, before), typed(parameters, after))


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
