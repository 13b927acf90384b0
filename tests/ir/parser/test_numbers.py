"""Numbers in texts: their forms, their element types, and what does not fit them."""

import pytest

from relay_tune.errors import InputError, ParseError
from relay_tune.ir.expr import Constant, constant
from relay_tune.ir.parser.parse import parse, parse_expr

NUMBERS = [
    ("0", "int32", 0),
    ("-05", "int32", -5),
    ("2147483647", "int32", 2**31 - 1),
    ("2147483648", "int64", 2**31),
    ("9223372036854775807", "int64", 2**63 - 1),
    ("-42i", "int32", -42),
    ("-42i8", "int8", -42),
    ("-42i16", "int16", -42),
    ("-42i32", "int32", -42),
    ("-42i64", "int64", -42),
    ("-10.0f", "float32", -10.0),
    ("1.", "float32", 1.0),
    ("1.25f", "float32", 1.25),
    ("5e-1f", "float32", 0.5),
    ("1e+1f", "float32", 10.0),
    ("5E-1f", "float32", 0.5),
    ("1.0E+1f", "float32", 10.0),
    ("3f16", "float16", 3.0),
    ("3f32", "float32", 3.0),
    ("3f64", "float64", 3.0),
    ("True", "bool", True),
    ("False", "bool", False),
]


@pytest.mark.parametrize(("text", "dtype", "value"), NUMBERS)
def test_a_number_is_a_scalar_constant(text: str, dtype: str, value: float) -> None:
    expr = parse_expr(text)
    assert isinstance(expr, Constant)
    assert (expr.data.shape, expr.data.dtype.name) == ((), dtype)
    assert expr.data.item() == value


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("2147483648i", "int32"),
        ("2147483648i32", "int32"),
        ("32768i16", "int16"),
        ("9223372036854775808", "int64"),
        ("3.40283e+38f32", "float32"),
        ("65520f16", "float16"),
    ],
)
def test_a_number_that_does_not_fit_is_an_error(text: str, dtype: str) -> None:
    with pytest.raises(ParseError, match=f"does not fit {dtype}"):
        parse_expr(text)


def test_indices_and_numbers_of_thousands_of_digits_are_refused_in_words() -> None:
    with pytest.raises(ParseError, match="has at most 18 digits"):
        parse(f"def @main(%x: int32) {{ (%x, %x).{'9' * 5000} }}")
    with pytest.raises(InputError, match="A whole number of 20001 bits is no constant"):
        constant(2**20_000)
