"""The data types that inputs and outputs consist of."""

import pytest

from relay_tune.building.build import build
from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.parser.parse import parse


@pytest.mark.parametrize("inner", ["(A, A)", "Nested[A]", "ref(A)"])
def test_inputs_of_types_that_grow_are_refused_at_once(inner: str) -> None:
    text = (
        f"type Nested[A] {{ Flat(A), Deeper(Nested[{inner}]) }}\n"
        "def @main(%n: Nested[int32]) -> int32 { match (%n) { Flat(%x) => %x, Deeper(_) => 1 } }"
    )
    with pytest.raises(NoNativeCodeError, match=r"ever larger types(.|\n)*Nested\[int32\]"):
        build(parse(text))
