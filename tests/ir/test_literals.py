import numpy as np
import pytest

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.literals import LiteralError, scalar_array, scalar_text

SCALARS = [
    (True, "bool", "True"),
    (1, "int32", "1"),
    (-128, "int8", "-128i8"),
    (255, "uint8", "255u8"),
    (-5, "int64", "-5i64"),
    (2**64 - 1, "uint64", "18446744073709551615u64"),
    (1.0, "float32", "1f"),
    (0.1, "float32", "0.1f"),
    (1.5, "float64", "1.5f64"),
    (1e-5, "float32", "1e-05f"),
    (-0.0, "float16", "-0f16"),
    (1.0078125, "bfloat16", "1.0078125bf16"),
    (float("inf"), "float32", "inff"),
    (float("-inf"), "bfloat16", "-infbf16"),
    (float("nan"), "float64", "nanf64"),
]


@pytest.mark.parametrize(("value", "dtype", "text"), SCALARS)
def test_scalars_are_written_with_their_suffix_and_read_back(
    value: float, dtype: str, text: str
) -> None:
    data = np.asarray(value, dtype=DTYPES[dtype])
    assert scalar_text(data) == text
    if dtype != "bool":
        again = scalar_array(text.removeprefix("-"), text.startswith("-"))
        assert again.dtype == data.dtype
        assert again.tobytes() == data.tobytes()


def test_a_nan_with_a_payload_has_no_literal() -> None:
    assert scalar_text(np.frombuffer(b"\x01\x00\xc0\x7f", "<f4").reshape(())) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half_precision_number_survives(dtype: str) -> None:
    for bits in range(0, 2**16, 7):
        data = np.asarray(bits, dtype=np.uint16).view(DTYPES[dtype]).reshape(())
        text = scalar_text(data)
        if text is None:
            assert float(data) != float(data)
            continue
        assert scalar_array(text.removeprefix("-"), text.startswith("-")).tobytes() == (
            data.tobytes()
        )


def test_an_integer_without_suffix_grows_to_int64() -> None:
    assert scalar_array("2147483648", negative=False).dtype == np.int64
    assert scalar_array("2147483648", negative=True).dtype == np.int32


@pytest.mark.parametrize(
    ("text", "negative", "message"),
    [
        ("300u8", False, "does not fit uint8"),
        ("1u8", True, "does not fit uint8"),
        ("9223372036854775808", False, "does not fit int64"),
        ("1e39f", False, "does not fit float32"),
        ("1e400f64", False, "does not fit float64"),
        ("1.5i32", False, "fraction"),
        ("1q", False, "no suffix"),
    ],
)
def test_errors(text: str, negative: bool, message: str) -> None:
    with pytest.raises(LiteralError, match=message):
        scalar_array(text, negative)
