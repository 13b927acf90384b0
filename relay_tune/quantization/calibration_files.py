"""Arrays in files: .npz has them by name, .npy is the only input, a folder has many of both."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from relay_tune.arguments import require_regular
from relay_tune.errors import InputError

Arrays: TypeAlias = dict[str, np.ndarray]
"""Arrays by input."""

ENDINGS = (".npz", ".npy")

KINDS = "Give a .npz file with an array for each input, a .npy file, or a folder of such files."


def files_of(path: Path) -> list[Path]:
    """The files of a path, those of a folder in the order of their names.

    Raises InputError where there are none.
    """
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
        if not found:
            raise InputError(f"The folder {path} has no .npz or .npy files.", remedy=KINDS)
        return found
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} is no calibration data that can be read.", remedy=KINDS)
    return [path]


def read_arrays(file: PathLike[str]) -> Arrays | np.ndarray:
    """The arrays of a file, by name from .npz; InputError where it cannot be read."""
    require_regular(Path(file))
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise InputError(
            f"The file {file} cannot be read: {error.strerror or error}.",
            remedy="Check the path.",
        ) from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"The file {file} has no arrays of numbers in numpy's format.",
            remedy="Write it with numpy.savez(file, **arrays) or numpy.save(file, array).",
        ) from error
