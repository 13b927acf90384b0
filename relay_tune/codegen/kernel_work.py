"""How much the kernels of a primitive have to do, whatever their schedule."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KernelWork:
    """The work of one run.

    Attributes:
        written: arithmetic operations as the program is written; a product that is summed is two.
        operations: those of the algorithm that was chosen, Winograd's are fewer; by what computes
            them: instructions for an element type, or an intrinsic, by the name of its pattern.
        bytes: what is read or written at least once.
        algorithm: its name, for people.
        instruction: what computes most of the operations: the instruction of products, by its name
            in assembly, or the type of the elements; empty where that is not known.
    """

    written: int
    operations: Mapping[str, int]
    bytes: int
    algorithm: str = ""
    instruction: str = ""

    @property
    def own(self) -> int:
        """All operations of the algorithm."""
        return sum(self.operations.values())
