"""torch.compile with its default backend and frozen weights, without gradients.

It needs a C++ compiler and up to a minute for each network and number of threads; it keeps what it
compiled for the next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from relay_tune.cli.peers.peer import Array, Run


def prepare_torch(path: Path, inputs: Mapping[str, Array], threads: int) -> Run:
    """A compiled module of the file's nodes."""
    torch = import_module("torch")
    function, arguments = import_module("relay_tune.cli.peers.torch_module.module").compiled(
        path, inputs, threads
    )

    def run() -> list[Array]:
        with torch.no_grad():
            return [output.numpy() for output in function(*arguments)]

    return run
