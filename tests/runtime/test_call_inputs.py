import ml_dtypes
import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.runtime.call_inputs import address_of, checked_array

TYPE = TensorType((2, 3), "float32")
A = np.ones((2, 3), np.float32)


def test_an_array_of_the_type_is_taken_as_it_is() -> None:
    assert checked_array(A, TYPE, "a") is A
    read_only = A.copy()
    read_only.flags.writeable = False
    assert np.shares_memory(checked_array(read_only, TYPE, "a"), read_only)


def test_what_lies_in_another_order_is_copied() -> None:
    found = checked_array(np.asfortranarray(A), TYPE, "a")
    assert found.flags.c_contiguous and found.tolist() == A.tolist()


def test_swapped_bytes_are_named() -> None:
    with pytest.raises(InputError, match=r"bytes are swapped; convert it: a\.astype"):
        checked_array(A.astype(A.dtype.newbyteorder()), TYPE, "a")


def test_other_types_are_refused() -> None:
    for value in (A.astype("float64"), A[:1], A[None]):
        with pytest.raises(InputError, match="'a' must be"):
            checked_array(value, TYPE, "a")


@pytest.mark.parametrize(
    ("value", "name", "remedy"),
    [
        (A.astype("float64"), "a", r'a\.astype\("float32"\)'),
        (A.astype("float64"), "onnx::Gemm_0", r'array\.astype\("float32"\)'),
        (np.eye(2, dtype="int64")[None], "a", r"2 dimension\(s\), and of float32"),
    ],
    ids=["type", "a name that is none in Python", "dimensions too"],
)
def test_the_way_out_can_be_gone(value, name, remedy) -> None:
    with pytest.raises(InputError, match=f"help.*{remedy}"):
        checked_array(value, TYPE, name)


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
