"""The values that integer tensors can have."""

import pytest

import relay_tune as rt
from relay_tune.transform.integer_ranges import integer_ranges
from relay_tune.typing.infer import infer_types


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("argmax(%x, axis=[1])", (0, 4)),
        ("argmin(%x)", (0, 19)),
        ("argsort(%x, axis=0)", (0, 3)),
        ('cast(argmax(%x, axis=[0]), dtype="int64")', (0, 3)),
        ('cast(argsort(%x, axis=1), dtype="int8")', (0, 4)),
        ("floor_mod(%i, 8)", (0, 7)),
        ("add(floor_mod(%i, 8), 3)", (3, 10)),
        ("multiply(floor_mod(%i, 8), -2)", (-14, 0)),
        ('where(less(%i, 0), cast(argmax(%x, axis=[0]), dtype="int32"), 20)', (0, 20)),
        ("clip(%i, a_min=-2f, a_max=7f)", (-2, 7)),
        ("maximum(minimum(%i, 3), 1)", (1, 3)),
        ("floor_divide(floor_mod(%i, 8), 2)", (0, 3)),
        ("concatenate((floor_mod(%i, 8), floor_mod(%i, 20)))", (0, 19)),
        ("topk(%x, k=2, axis=1).1", (0, 4)),
        ('cast(%b, dtype="int32")', (0, 255)),
        ("add(%i, 1)", (-(2**31), 2**31 - 1)),
        ('cast(multiply(argmax(%x), 20i64), dtype="int8")', (-128, 127)),
        ('cast(%x, dtype="int32")', (-(2**31), 2**31 - 1)),
    ],
)
def test_ranges(expression, expected):
    module = infer_types(
        rt.parse(
            "def @main(%x: Tensor[(4, 5), float32], %i: Tensor[(5), int32], "
            f"%b: Tensor[(5), uint8]) {{ {expression} }}"
        )
    )
    assert integer_ranges(module.main.body)[module.main.body] == expected
