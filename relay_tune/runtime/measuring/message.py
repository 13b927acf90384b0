"""Messages between tuner and measuring worker: JSON headers and raw bytes.

A message is the length of its header (8 bytes, little-endian), the header, and the blobs whose
lengths the header lists. Nothing in a message is executed but the object files of candidates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import IO, Any

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.packing import PackedAxis, PackRecipe

LENGTH_BYTES = 8

FORGOTTEN = "forgotten"
"""The status of a candidate that the worker no longer holds."""


class SlotKind(StrEnum):
    """The kind of a slot in a candidate's table of addresses."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    SCRATCH = "scratch"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class Slot:
    """One entry of the table of addresses that a candidate runs on.

    Attributes:
        kind: what it points to.
        index: which input, output or constant of the task; of a size its number.
        bytes: the size of scratch memory.
        recipe: how the constant is packed, or None for the constant as it is.
    """

    kind: SlotKind
    index: int = 0
    bytes: int = 0
    recipe: PackRecipe | None = None

    def to_json(self) -> dict[str, Any]:
        """This slot as JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Slot:
        """The slot that `to_json` described."""
        recipe = data["recipe"]
        return Slot(
            SlotKind(data["kind"]),
            data["index"],
            data["bytes"],
            None if recipe is None else _recipe(recipe),
        )


def _recipe(data: dict[str, Any]) -> PackRecipe:
    tiled = tuple(PackedAxis(**axis) for axis in data["tiled"])
    plain = tuple(PackedAxis(**axis) for axis in data["plain"])
    return PackRecipe(data["offset"], tiled, plain)


def write_message(stream: IO[bytes], header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Send a message; OSError if nobody reads."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], list[bytes]] | None:
    """The next message as (header, blobs); None when the sender is gone."""
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    text = stream.read(int.from_bytes(length, "little"))
    try:
        header = json.loads(text)
    except ValueError:
        return None  # cut off in the middle
    blobs = [stream.read(size) for size in header.pop("blobs")]
    return header, blobs
