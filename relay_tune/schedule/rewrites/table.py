"""All algorithms, in the order in which they are offered; packages add theirs when imported.

ALGORITHMS.add(EXCHANGED)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from relay_tune.errors import InputError
from relay_tune.schedule.rewrites.algorithm import DIRECT, Algorithm
from relay_tune.schedule.rewrites.copied_rows import COPIED_ROWS
from relay_tune.schedule.rewrites.dot_products.record import DOT_PRODUCTS
from relay_tune.schedule.rewrites.matrix_products.record import (
    BF16_MATRICES,
    BF16X1,
    BF16X3,
    BF16X3_SUMS,
    BF16X6,
    BYTE_PRODUCTS,
)
from relay_tune.schedule.rewrites.panel_sums import PANEL_SUMS
from relay_tune.schedule.rewrites.partial_sums import PARTIAL_SUMS
from relay_tune.schedule.rewrites.quantized_rows.record import DIGITS, QUANTIZED
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.rewrites.weight_panels.matrix_record import MATRIX_PANELS
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.rewrites.winograd.integer_record import WINOGRAD_INTEGERS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD


class Algorithms(Sequence[Algorithm]):
    """Algorithms by name; one can only follow those before it."""

    def __init__(self, *algorithms: Algorithm) -> None:
        self._known: tuple[Algorithm, ...] = ()
        for each in algorithms:
            self.add(each)

    def add(self, algorithm: Algorithm) -> None:
        """Offer one more, after all others.

        Raises InputError where there is one of this name, or it follows one that is not here.
        """
        if algorithm.name in (str(DIRECT), *(each.name for each in self)):
            raise InputError(
                f"There is an algorithm {algorithm.name!r} already.",
                remedy="Give it a name of its own, such as mine.exchanged.",
            )
        for other in algorithm.follows:
            if other not in self:
                raise InputError(
                    f"The algorithm {algorithm.name} follows {other.name}, which is not known.",
                    remedy=f"Add {other.name} first.",
                )
        self._known = (*self._known, algorithm)

    @overload
    def __getitem__(self, index: int) -> Algorithm: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Algorithm, ...]: ...
    def __getitem__(self, index: int | slice) -> Algorithm | tuple[Algorithm, ...]:
        return self._known[index]

    def __len__(self) -> int:
        return len(self._known)


ALGORITHMS = Algorithms(
    SPLIT,
    STRASSEN,
    BF16X3,
    BF16X3_SUMS,
    BF16X6,
    BF16X1,
    BF16_MATRICES,
    *BYTE_PRODUCTS,
    *DOT_PRODUCTS,
    PANELS,
    *MATRIX_PANELS,
    *QUANTIZED,
    *DIGITS,
    WINOGRAD,
    WINOGRAD_INTEGERS,
    PARTIAL_SUMS,
    PANEL_SUMS,
    COPIED_ROWS,
    ROWS,
)
