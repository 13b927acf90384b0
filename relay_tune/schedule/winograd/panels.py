"""Panels of outputs: how many channels of the products of a convolution are computed at a time.

Products of all channels outgrow the near caches before they are turned into results. With panels,
both run for some channels, then for the next ones, and what they leave each other stays near:

    t[panel, k, tile, o], u[panel, k, c, o]     a panel is a row of the groups of nests

The transformed data is computed before, and read once for each panel.
"""

from __future__ import annotations

from math import prod

import numpy as np

from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES
from relay_tune.schedule.winograd.blocks import tile_blocks
from relay_tune.schedule.winograd.match import Convolution
from relay_tune.schedule.winograd.transforms import Filtering
from relay_tune.tensor.size import is_symbolic

PANELS = (32,)
"""Outputs of a panel; the larger ones read the data less often."""


def in_panels(taps: np.ndarray, panel: int) -> np.ndarray:
    """Transformed taps (.., outputs) as (outputs / panel, .., panel)."""
    *others, outputs = taps.shape
    split = taps.reshape(*others, outputs // panel, panel)
    return np.ascontiguousarray(np.moveaxis(split, -2, 0))


def panel_counts(convolution: Convolution, filtering: Filtering) -> list[int]:
    """The outputs of the panels that are worth a look, the largest first.

    There are none where the batch is open: a panel has the products of all images.
    """
    if is_symbolic(convolution.image[0]):
        return []
    tiles = prod(tile_blocks(convolution, filtering, None).counts) * prod(convolution.depths[1])
    outputs = convolution.stage.shape[-1]
    return [
        panel
        for panel in PANELS
        if outputs % panel == 0
        and panel < outputs
        and filtering.window**2 * tiles * panel * 4 <= MAXIMUM_LOCAL_BYTES
    ]
