"""The metadata section: the tensors that are too large for a literal.

    #[metadata]
    {"relay.Constant": [
      {"dtype": "float32", "shape": [2, 3], "data": "base64 of the little-endian bytes"},
      ...
    ]}

The program refers to an entry by `meta[relay.Constant][index]`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.dtypes import DTYPES, dtype_name

HEADER = "#[metadata]"
CONSTANTS = "relay.Constant"


class MetadataError(ValueError):
    """A metadata section that is not as described; the message is a sentence."""


def metadata_text(tensors: Sequence[np.ndarray]) -> str:
    """The section for these tensors; empty without any."""
    if not tensors:
        return ""
    entries = ",\n".join("  " + json.dumps(_entry(tensor)) for tensor in tensors)
    return f'{HEADER}\n{{"{CONSTANTS}": [\n{entries}\n]}}\n'


def read_metadata(text: str) -> list[np.ndarray]:
    """The tensors of a section (the text after its header); raises MetadataError."""
    try:
        section = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MetadataError(f"The metadata section is not JSON: {error}.") from error
    if not isinstance(section, dict) or not section.keys() <= {CONSTANTS}:
        raise MetadataError(f'The metadata section is not of the form {{"{CONSTANTS}": [...]}}.')
    entries = section.get(CONSTANTS, [])
    if not isinstance(entries, list):
        raise MetadataError(f"{CONSTANTS} in the metadata section is not a list.")
    return [_tensor(index, entry) for index, entry in enumerate(entries)]


def _entry(data: np.ndarray) -> dict[str, Any]:
    name = dtype_name(data)
    raw = np.ascontiguousarray(data.astype(DTYPES[name].newbyteorder("<"), copy=False))
    encoded = base64.b64encode(raw.tobytes()).decode("ascii")
    return {"dtype": name, "shape": list(data.shape), "data": encoded}


def _tensor(index: int, entry: object) -> np.ndarray:
    where = f"Entry {index} of {CONSTANTS} in the metadata section"
    match entry:
        case {"dtype": str(name), "shape": list(shape), "data": str(data), **rest} if not rest:
            pass
        case _:
            raise MetadataError(f"{where} has not just the keys dtype, shape and data.")
    if name not in DTYPES:
        raise MetadataError(f"{where} has the unknown dtype {name}.")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise MetadataError(f"{where} has the shape {shape}, which is not a list of sizes.")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MetadataError(f"{where} is not base64: {error}.") from error
    return _array(where, name, shape, raw)


def _array(location: str, name: str, shape: list[int], raw: bytes) -> np.ndarray:
    expected = prod(shape) * DTYPES[name].itemsize
    if len(raw) != expected:
        raise MetadataError(f"{location} has {len(raw)} bytes, but its shape needs {expected}.")
    if name == "bool" and raw.strip(b"\x00\x01"):
        raise MetadataError(f"{location} has bytes that are neither false nor true.")
    flat = np.frombuffer(raw, dtype=DTYPES[name].newbyteorder("<"))
    return flat.astype(DTYPES[name], copy=False).reshape(shape)
