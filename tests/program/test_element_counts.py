"""Which numbers of elements primitives compare when they run."""

import pytest

import relay_tune.op  # noqa: F401
from relay_tune.ir.expr import Function
from relay_tune.ir.parser.parse import parse
from relay_tune.program.open_primitive import open_primitive
from relay_tune.typing.infer import infer_types

TWO = "%a: Tensor[(n, 3), float32], %b: Tensor[(m, k), float32]"
ROOMS = "%a: Tensor[(n, 6, h, w), float32]"


def counts(params: str, body: str) -> list[tuple[str, str]]:
    function = infer_types(parse(f"def @main({params}) {{ {body} }}")).main
    found = open_primitive(Function(function.params, function.body, type=function.type)).counts
    return [(str(before), str(after)) for before, after in found]


@pytest.mark.parametrize(
    ("params", "body", "wanted"),
    [
        (TWO, "reshape_like(tanh(%a), %b)", [("3 * s0", "s1 * s2")]),
        (TWO, "(reshape_like(%a, %b), reshape_like(%a, %b, rhs_end=2))", [("3 * s0", "s1 * s2")]),
        (TWO, "reshape(%a, newshape=[3, -1])", []),
        (TWO, "squeeze(%b, axis=[0])", [("s1 * s2", "s2")]),
        (ROOMS, "split(%a, indices_or_sections=2, axis=1)", []),
        (ROOMS, "split(%a, indices_or_sections=[1, 3], axis=2)", []),
        (ROOMS, "reshape(%a, newshape=[0, 2, -1])", []),
        (
            "%a: Tensor[(1, c, 5, 5), float32], %w: Tensor[(c, 2, 3, 3), float32]",
            "nn.conv2d_transpose(%a, %w, groups=2)",
            [("s0", "2 * (s0 // 2)")],
        ),
        (
            "%a: Tensor[(b, 4, 4, 1), float32]",
            "nn.batch_to_space_nd(%a, block_shape=[2, 2], crops=[[0, 0], [0, 0]])",
            [("s0", "4 * (s0 // 4)")],
        ),
        (
            "%a: Tensor[(1, h, 1), float32]",
            "nn.space_to_batch_nd(%a, block_shape=[2], paddings=[[1, 0]])",
            [("s0 + 1", "2 * ((s0 + 1) // 2)")],
        ),
    ],
)
def test_counts(params: str, body: str, wanted: list[tuple[str, str]]) -> None:
    assert counts(params, body) == wanted


def test_parts_that_may_not_divide_a_size() -> None:
    ((before, after),) = counts(ROOMS, "split(%a, indices_or_sections=2, axis=3)")
    assert before == "6 * s0 * s1 * s2" and "s2 // 2" in after
