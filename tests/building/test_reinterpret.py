"""The bits of a tensor read as another type, natively."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import TypeInferenceError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

PAIRS = [
    ("float32", "int32"),
    ("uint32", "float32"),
    ("float64", "uint64"),
    ("int64", "float64"),
    ("float16", "int16"),
    ("uint16", "float16"),
    ("bfloat16", "uint16"),
    ("float16", "bfloat16"),
    ("int8", "uint8"),
    ("bool", "int8"),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_bits_are_read_as_another_type(source: str, target: str) -> None:
    body = f'reinterpret(%x, dtype="{target}")'
    module = parse(f"def @main(%x: Tensor[(n, 7), {source}]) {{ ({body}, {body} == {body}) }}")
    model = build(module, threads=1)
    numbers = np.random.default_rng(0).standard_normal((9, 7)) * 100
    with np.errstate(invalid="ignore"):
        data = (numbers > 0) if source == "bool" else numbers.astype(DTYPES[source])
    for rows in (1, 9):
        found, expected = model(data[:rows]), interpret(module, data[:rows])
        assert_same_value(found, expected)
        assert np.asarray(found[0]).tobytes() == np.asarray(expected[0]).tobytes()


def test_bits_of_numbers_in_registers() -> None:
    text = """
def @main(%x: float32, %n: int32) -> int32 {
  if (%n < 1) { reinterpret(%x, dtype="int32") } else { @main(%x * 0.5f, %n - 1) }
}
"""
    module = parse(text)
    assert_same_value(build(module, threads=1)(3.0, 2), interpret(module, 3.0, 2))


def test_the_types_must_be_equally_wide() -> None:
    module = parse('def @main(%x: Tensor[(4), float32]) { reinterpret(%x, dtype="int64") }')
    with pytest.raises(TypeInferenceError, match="different numbers of bytes"):
        infer_types(module)
