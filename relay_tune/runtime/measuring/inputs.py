"""Data of a measurement: inputs, constants, and the reference's outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.aligned_memory import as_bytes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Inputs of a task, and the outputs that the reference makes of them."""

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]


@dataclass(frozen=True, eq=False, slots=True)
class MeasureInputs:
    """The data of one task.

    Attributes:
        inputs: one array for each tensor parameter, tuples flattened.
        constants: the contents of the program's constants.
        expected: one array for each output tensor; empty if outputs are not compared.
        other_bytes: what the network touches between two runs of the kernel.
        second: other inputs, for the check after timing; None for the same ones.
    """

    inputs: tuple[Array, ...]
    constants: tuple[Array, ...]
    expected: tuple[Array, ...]
    other_bytes: int = 0
    second: Sample | None = None

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """The inputs of the check before timing and of the one after it."""
        first = Sample(self.inputs, self.expected)
        return first, first if self.second is None else self.second


def save_inputs(data: MeasureInputs, folder: Path) -> dict[str, Any]:
    """Write the arrays into `folder` as files of bytes; returns what `load_inputs` wants to know.

    InputError if there is no room for them.
    """
    groups = {"input": data.inputs, "constant": data.constants, "expected": data.expected}
    if data.second is not None:
        groups |= {"second_input": data.second.inputs, "second_expected": data.second.expected}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "folder": str(folder),
            "other_bytes": data.other_bytes,
            "arrays": {
                name: [_save(array, folder / f"{name}{n}.npy") for n, array in enumerate(arrays)]
                for name, arrays in groups.items()
            },
        }
    except OSError as error:
        raise InputError(
            f"The data of a kernel cannot be written: {error.strerror or error}.",
            where=str(folder),
            remedy="Make room there, or let TMPDIR name another folder.",
        ) from error


def _save(array: Array, path: Path) -> dict[str, Any]:
    np.save(path, as_bytes(array), allow_pickle=False)
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def load_inputs(description: dict[str, Any]) -> MeasureInputs:
    """The arrays that `save_inputs` wrote, mapped from their files and not writeable."""
    folder = Path(description["folder"])
    groups = {
        name: tuple(_load(folder / f"{name}{n}.npy", item) for n, item in enumerate(items))
        for name, items in description["arrays"].items()
    }
    second = None
    if "second_input" in groups:
        second = Sample(groups["second_input"], groups["second_expected"])
    return MeasureInputs(
        groups["input"], groups["constant"], groups["expected"], description["other_bytes"], second
    )


def _load(path: Path, item: dict[str, Any]) -> Array:
    dtype, shape = DTYPES[item["dtype"]], tuple(item["shape"])
    if 0 in shape:  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    raw = np.load(path, mmap_mode="r", allow_pickle=False)
    array: Array = raw.view(dtype).reshape(shape)
    return array
