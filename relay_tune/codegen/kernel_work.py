"""How much the kernels of a primitive have to do, whatever their schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelWork:
    """The work of one run.

    Attributes:
        written: arithmetic operations as the program is written; a product that is summed is two.
        operations: those of the algorithm that was chosen; Winograd's are fewer.
        bytes: what is read or written at least once.
        dtype: the element type that most operations work on.
        algorithm: its name.
    """

    written: int
    operations: int
    bytes: int
    dtype: str = "float32"
    algorithm: str = "direct"
