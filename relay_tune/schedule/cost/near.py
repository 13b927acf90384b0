"""What a nest finds in a near cache because the nests before have touched it."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.tensor.expression import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Near:
    """What the nests before have left in a cache.

    Attributes:
        tensors: of which the part that the nest reads or writes is there.
        bytes: all that the nests work on meanwhile, which decides how near the cache is.
        repeats: how often the nests run, one block after the other, with the same constants.
        siblings: how many reductions run in the same loops (see `sibling_reductions`).
        joined: whether the nest is not the first of them.
    """

    tensors: frozenset[Tensor] = frozenset()
    bytes: int = 0
    repeats: int = 1
    siblings: int = 1
    joined: bool = False


NOTHING_NEAR = Near()
