"""The interface of another runtime for comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass

Array = np.ndarray[Any, Any]
Run = Callable[[], Sequence[Array]]
"""One inference; the outputs in order."""

Prepare = Callable[[Path, Mapping[str, Array], int], Run]
"""(ONNX file, inputs, threads) -> a function that runs it once."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another runtime for ONNX files.

    Attributes:
        name: in tables and on the command line.
        title: in messages.
        packages: that have to be installed.
        prepare: makes a function that runs a file once.
        refusals: the exceptions with which it refuses a model, asked for when it is installed.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    prepare: Prepare
    refusals: Callable[[], tuple[type[Exception], ...]]

    def checked(self, model: Path, inputs: Mapping[str, Array], threads: int) -> Run:
        """A function that runs a file; it has run once.

        Raises InputError where a package is missing or the runtime refuses the model.
        """
        for package in self.packages:
            try:
                import_module(package)
            except ImportError as error:
                raise InputError(
                    f"{self.title} needs the package {package}, which is not installed.",
                    remedy=f"Install it: pip install {package}.",
                ) from error
        try:
            run = self.prepare(model, inputs, threads)
            run()
        except self.refusals() as error:
            raise InputError(
                f"{self.title} refuses the model: {str(error).strip() or type(error).__name__}",
                remedy="Compare without this runtime, or export the model for another operator "
                "set.",
            ) from error
        return run
