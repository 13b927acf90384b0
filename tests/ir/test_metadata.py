import ml_dtypes
import numpy as np
import pytest

from relay_tune.ir.metadata import HEADER, MetadataError, metadata_text, read_metadata


def test_tensors_survive_with_their_bits() -> None:
    tensors = [
        np.array([[1.5, -0.0], [np.inf, np.nan]], dtype=np.float32),
        np.zeros((0, 3), dtype=np.int8),
        np.array(3, dtype=ml_dtypes.bfloat16),
        np.arange(6, dtype=">i2").reshape(2, 3).T,
        np.array([True, False]),
    ]
    again = read_metadata(metadata_text(tensors).removeprefix(HEADER))
    for before, after in zip(tensors, again, strict=True):
        assert after.dtype.name == before.dtype.name
        assert after.shape == before.shape
        assert after.tobytes() == before.astype(after.dtype).tobytes()


ENTRY = '{"relay.Constant": [{"dtype": "int8", "shape": [2], "data": "AAA="}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not of the form"),
        ('{"other": []}', "not of the form"),
        ('{"relay.Constant": 1}', "not a list"),
        ('{"relay.Constant": [{}]}', "just the keys"),
        (ENTRY.replace("int8", "int7"), "unknown dtype int7"),
        (ENTRY.replace("[2]", "[-2]"), "not a list of sizes"),
        (ENTRY.replace("[2]", "[3]"), "has 2 bytes, but its shape needs 3"),
        (ENTRY.replace("AAA=", "A"), "not base64"),
        (ENTRY.replace("int8", "bool").replace("AAA=", "AAI="), "neither false nor true"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(MetadataError, match=message):
        read_metadata(text)
