import ml_dtypes
import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.runtime.call_inputs import CallInputs, address_of

TYPES = {"a": TensorType((2, 3), "float32"), "b": TensorType((3,), "float32")}
A, B = np.ones((2, 3), np.float32), np.zeros(3, np.float32)


def test_named_arrays_come_in_the_order_of_the_inputs() -> None:
    found = CallInputs(TYPES).bind((), {"b": B, "a": A})
    assert found[0] is A and found[1] is B


def test_names_and_positions_are_not_mixed_up() -> None:
    inputs = CallInputs(TYPES)
    found = inputs.bind((A,), {"b": B})
    assert found[0] is A and found[1] is B
    for positional, named in (((A, B), {"a": A, "b": B}), ((), {"a": A, "c": B}), ((), {"a": A})):
        with pytest.raises(InputError):
            inputs.bind(positional, named)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(()),
        np.zeros((0, 3)),
        np.zeros(4, np.float16),
        np.zeros(4, ml_dtypes.bfloat16),
        np.zeros(5, bool),
        np.broadcast_to(np.float32(1), (1,)),
    ],
)
def test_addresses(array: np.ndarray) -> None:
    assert address_of(array) == array.ctypes.data
