"""Which primitives can serve many calls as rows, and what is split off their products."""

import numpy as np
import pytest

from relay_tune.ir.expr import Function
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import function_type
from relay_tune.program.row_batches import with_rows
from relay_tune.program.split_epilogue import is_worth_joining, split_epilogue
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

ROW = "Tensor[(1, 96), float32]"
WEIGHTS = {"w": np.random.default_rng(0).standard_normal((96, 96)).astype(np.float32)}


def primitive(params: str, body: str) -> Function:
    """A typed function, %w a constant."""
    text = f"def @main({params}, %w: Tensor[(96, 96), float32]) {{ {body} }}"
    return infer_types(BindParameters(WEIGHTS)(parse(text))).main


@pytest.mark.parametrize(
    "body",
    [
        "nn.dense(%x, %w)",
        "nn.softmax(nn.dense(%x, %w)) * %x",
        "strided_slice(nn.dense(%x, %w), begin=[0, 8], end=[1, 16])",
        "(%x + %x, nn.dense(tanh(%x), %w))",
    ],
)
def test_rows_are_calls(body: str) -> None:
    single = primitive(f"%x: {ROW}", body)
    batched = with_rows(single, 4)
    assert batched is not None
    assert function_type(batched).params == (TensorType((4, 96), "float32"),)
    rows = np.random.default_rng(1).standard_normal((4, 96)).astype(np.float32)
    whole = interpret(parse("def @main() { 0 }").with_function("main", batched), rows)
    for row in range(4):
        alone = interpret(
            parse("def @main() { 0 }").with_function("main", single), rows[row : row + 1]
        )
        for part, expected in zip(parts(whole), parts(alone), strict=True):
            np.testing.assert_allclose(part[row : row + 1], expected, rtol=1e-5, atol=1e-5)


def parts(value: object) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("params", "body"),
    [
        (f"%x: {ROW}, %y: {ROW}", "nn.dense(%x, %y)"),
        (f"%x: {ROW}", "cumsum(%x, axis=0)"),
        (f"%x: {ROW}", "reverse(%x, axis=0)"),
        (f"%x: {ROW}", "nn.softmax(%x, axis=0)"),
        (f"%x: {ROW}", "reshape(nn.dense(%x, %w), newshape=[1, 96])"),
        (f"%x: {ROW}", "strided_slice(%x, begin=[0, 8], end=[-1, 16])"),
        (f"%x: {ROW}, %y: Tensor[(96), float32]", "nn.dense(%x, %w) + %y"),
        (f"%x: {ROW}, %y: float32", "nn.dense(%x, %w) * %y"),
        (f"%x: {ROW}", "sum(%x)"),
    ],
)
def test_other_primitives_stay_alone(params: str, body: str) -> None:
    assert with_rows(primitive(params, body), 4) is None


def test_the_product_is_split_off_what_reads_other_arguments() -> None:
    params = f"%x: {ROW}, %y: {ROW}, %z: {ROW}"
    split = split_epilogue(primitive(params, "sigmoid(nn.dense(%y, %w)) * %x + %y"))
    assert split is not None
    assert (split.places, split.epilogue_places) == ((1,), (0, 1))
    product = primitive(f"%y: {ROW}", "sigmoid(nn.dense(%y, %w))")
    assert structural_equal(split.product.body.callee, product.body.callee)
    epilogue = primitive(f"%q: {ROW}, %x: {ROW}, %y: {ROW}", "%q * %x + %y")
    assert structural_equal(
        Function(split.epilogue.params, split.epilogue.body),
        Function(epilogue.params, epilogue.body),
    )


@pytest.mark.parametrize(
    ("params", "body"),
    [
        (f"%x: {ROW}", "sigmoid(nn.dense(%x, %w)) * %x"),
        (f"%x: {ROW}, %y: {ROW}", "nn.dense(%x, %w) + nn.dense(%y, %w)"),
        (f"%x: {ROW}, %y: {ROW}", "nn.dense(%x + %y, %w)"),
    ],
)
def test_nothing_is_split_where_nothing_is_gained(params: str, body: str) -> None:
    assert split_epilogue(primitive(params, body)) is None


def test_small_constants_are_not_worth_it() -> None:
    assert is_worth_joining(primitive(f"%x: {ROW}", "nn.dense(%x, %w)"))
    assert not is_worth_joining(primitive(f"%x: {ROW}", "%x * 2f"))
