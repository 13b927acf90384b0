"""All algorithms, in the order in which they are offered."""

from __future__ import annotations

from relay_tune.schedule.rewrites.algorithm import Algorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD

ALGORITHMS: tuple[Algorithm, ...] = (
    SPLIT,
    STRASSEN,
    BF16X3,
    BF16X6,
    WINOGRAD,
    ROWS,
)
