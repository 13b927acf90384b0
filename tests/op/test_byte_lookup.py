"""qnn.lookup: a table for all bytes."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import RelayError
from relay_tune.op.byte_lookup import lookup

TABLE = np.random.default_rng(0).permutation(256).astype(np.uint8)


@pytest.mark.parametrize("data", ["uint8", "int8"])
@pytest.mark.parametrize("table", ["uint8", "int8"])
def test_every_byte_is_looked_up_by_its_bits(data: str, table: str) -> None:
    every = np.arange(256, dtype=np.uint8).reshape(4, 64)
    found = lookup.reference(lookup.attributes(), every.view(data), TABLE.view(table))
    np.testing.assert_array_equal(found, TABLE.view(table)[every])
    text = (
        f"def @main(%x: Tensor[(4, 64), {data}], %t: Tensor[(256), {table}]) "
        "{ qnn.lookup(%x, %t) }"
    )
    model = rt.build(rt.parse('#[version = "0.0.5"]\n' + text))
    np.testing.assert_array_equal(model(every.view(data), TABLE.view(table)), found)


@pytest.mark.parametrize(
    ("data", "table"),
    [("int16", "(256), uint8"), ("uint8", "(255), uint8"), ("uint8", "(256), float32")],
)
def test_what_is_no_table_of_bytes_is_refused(data: str, table: str) -> None:
    text = f"def @main(%x: Tensor[(4), {data}], %t: Tensor[{table}]) {{ qnn.lookup(%x, %t) }}"
    with pytest.raises(RelayError):
        rt.infer_types(rt.parse('#[version = "0.0.5"]\n' + text))
