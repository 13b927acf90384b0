"""Parameters and states in a file, in the format of safetensors; it is written whole or not at all.

The format is described at the package `safetensors`, which reads and writes it: a header in JSON,
then arrays as they lie in memory. Nothing in a file is code.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from relay_tune.errors import InputError
from relay_tune.new_files import new_files


def write_checkpoint(path: str | PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; InputError where the file cannot be written.

    A file that was there stays as it was until the new one is complete and on the disk.
    """
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    try:
        with new_files(Path(path), durable=True) as (file,):
            file.write(content)
    except OSError as error:
        raise InputError(
            f"The checkpoint {path} cannot be written: {error.strerror}.",
            remedy="Give a path in a folder that you may write to.",
        ) from error


def read_checkpoint(
    path: str | PathLike[str], types: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The arrays of a file, which has those of `types`, no others, of the same shapes and types.

    Raises InputError where it does not.
    """
    try:
        found = load(Path(path).read_bytes())
    except OSError as error:
        raise InputError(
            f"The checkpoint {path} cannot be read: {error.strerror}.",
            remedy="Give the path of a file that a training step saved.",
        ) from error
    except SafetensorError as error:
        raise InputError(
            f"The file {path} is no checkpoint: {error}.",
            remedy="Give the path of a file that a training step saved.",
        ) from error
    _require_same(path, found, types)
    return {name: found[name] for name in types}


def _require_same(
    path: str | PathLike[str], found: Mapping[str, np.ndarray], types: Mapping[str, np.ndarray]
) -> None:
    remedy = "Build the step with the network and the optimiser that the checkpoint was saved with."
    missing = [name for name in types if name not in found]
    other = sorted(name for name in found if name not in types)
    if missing or other:
        lacks = f"lacks {', '.join(missing[:5])}" if missing else f"also has {', '.join(other[:5])}"
        raise InputError(f"The checkpoint {path} {lacks}.", remedy=remedy)
    for name, wanted in types.items():
        given = found[name]
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise InputError(
                f"The checkpoint {path} has {name} as {given.dtype} of shape {given.shape}, "
                f"not {wanted.dtype} of shape {wanted.shape}.",
                remedy=remedy,
            )
