"""The numbers in which tiles are filtered: floats, or integers of which none is rounded."""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.winograd.integer_transforms import INTEGER_FILTERINGS
from relay_tune.schedule.rewrites.winograd.transforms import FILTERINGS, Filterings


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """The types of a convolution and of what its filtering makes.

    Attributes:
        given: types that data and taps may have.
        transformed: the type of transformed data and taps.
        sums: that of the products and of the result.
        filterings: the transforms by the outputs of a tile and the stride.
    """

    given: Collection[str]
    transformed: str
    sums: str
    filterings: Filterings


FLOATS = Numbers(("float32",), "float32", "float32", FILTERINGS)
INTEGERS = Numbers(("uint8", "int8"), "int16", "int32", INTEGER_FILTERINGS)
