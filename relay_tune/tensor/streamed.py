"""Constants that a call streams through: it uses each element so few times that it waits for them.

A product of a matrix and a vector uses each weight once, a convolution uses it for each pixel.
"""

from __future__ import annotations

MOST_USES = 8
"""Constants that are used more often in one call are not what its time goes into."""


def is_streamed(uses: float) -> bool:
    """Whether a call that uses each element of a constant `uses` times waits for them."""
    return uses <= MOST_USES
