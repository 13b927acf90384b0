"""Slices of what is put together of parts are slices of the parts, with the same elements."""

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

A = np.arange(32, dtype=np.float32).reshape(4, 8) + 1
B = A[:3] + 100

JOINED = "concatenate((%a, %b))"
PADDED = "nn.pad(%a, 0f, pad_width=[[2, 1], [0, 0]])"
THREE = "reshape(concatenate((%a, %b)), newshape=[7, 2, 4])"
ROWS = "reshape(nn.pad(reshape(%a, newshape=[2, 2, 8]), 3f, pad_width=[[1, 2], [0, 0], [0, 0]]), "


def _names(body: str) -> set[str | None]:
    """The operators after simplification, which keeps all elements."""
    text = f"def @main(%a: Tensor[(4, 8), float32], %b: Tensor[(3, 8), float32]) {{ {body} }}"
    module = infer_types(parse(text))
    simple = SimplifyExpression()(module)
    np.testing.assert_array_equal(interpret(simple, A, B), interpret(module, A, B))
    return {operator_name(node) for node in post_order(simple.main.body)} - {None}


def _slice(data: str, begin: int, end: int, axis: int = 0) -> str:
    return f"strided_slice({data}, begin=[{begin}], end=[{end}], strides=[1], axes=[{axis}])"


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (_slice(JOINED, 0, 4), set()),
        (_slice(JOINED, 1, 3), {"strided_slice"}),
        (_slice(JOINED, 4, 7), set()),
        (_slice(JOINED, 5, 6), {"strided_slice"}),
        (_slice(JOINED, 3, 5), {"strided_slice", "concatenate"}),
        (_slice("concatenate((%b, %b), axis=1)", 9, 16, 1), {"strided_slice"}),
        (_slice(THREE, 4, 7), {"reshape"}),
        (_slice(THREE, 1, 2, 1), {"strided_slice", "reshape", "concatenate"}),
        (
            _slice("reshape(concatenate((%a, %b)), newshape=[14, 4])", 4, 6),
            {"strided_slice", "reshape"},
        ),
        (_slice(PADDED, 2, 6), set()),
        (_slice(PADDED, 3, 5), {"strided_slice"}),
        (_slice(PADDED, 0, 2), set()),
        (_slice(PADDED, 6, 7), set()),
        (_slice(PADDED, 1, 3), {"strided_slice", "nn.pad"}),
        (_slice('nn.pad(%a, 0f, pad_width=[[2, 1], [0, 0]], pad_mode="edge")', 0, 2), None),
        (_slice("nn.pad(%a, 0f, pad_width=[[0, 0], [1, 1]])", 1, 9, 1), None),
        (_slice(f"{ROWS} newshape=[10, 8])", 4, 6), {"strided_slice", "reshape"}),
        (_slice(f"{ROWS} newshape=[10, 8])", 0, 2), set()),
        (_slice(f"{ROWS} newshape=[10, 8])", 1, 3), None),
    ],
)
def test_a_slice_of_one_part_reads_that_part(body: str, left: set[str] | None) -> None:
    found = _names(body)
    if left is None:
        assert {"strided_slice", "nn.pad"} <= found
    else:
        assert found == left


def test_zeros_that_are_added_are_gone() -> None:
    padded = "nn.pad(%b, 0f, pad_width=[[4, 0], [0, 0]])"
    assert _names(f"%a + {_slice(padded, 0, 4)}") == set()
