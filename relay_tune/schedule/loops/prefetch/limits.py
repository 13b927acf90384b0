"""How much is asked for early, and what is worth asking for.

These numbers are a part of what a schedule means, so that one of a log stays the same code: they
are no coefficients of a machine, and no fit changes them.
"""

MOST_LINES = 8
"""For each written-out group of reduction steps; more would take the place of arithmetic."""

MOST_LINES_BESIDE_MATRICES = 32
"""For each step of a tile on matrix registers, which takes some 200 cycles."""

# Panels of the next tile.

MOST_PANEL_LINES = 16
"""The same of panels, whose readers would wait for memory: a tile reads them from end to end."""

MOST_ELEMENTS = 64 << 10
"""Of a panel that one tile reads: the next one has to find room beside it in the second cache."""

OPEN_TILES = 2
"""An open axis may have any number of tiles: the first so many fetch the next panel.

Images of few rows have two tiles beside large weights: with 4 the second half of a panel came late,
with 1 the first tile had to wait for all (ResNet-18, 224x224, dynamic: 9.8, 8.5 with 2, 9.9 ms).
"""

# Right operands of intrinsics.

STAYING_BYTES = 1 << 20
"""So many are still in the second cache when all are read again: they are fetched once.

Of 128x768x3072 as sums of bfloat16, 9.4 MB, each round of rows wants its fetches: without them,
bert_base took 1.06 of the time.
"""

# Operands of the next part of a sum.

MOST_PART_LINES = 2
"""For each written-out group of steps: more at once have the products wait."""

MOST_PART_BYTES = 640 << 10
"""Of a part: larger ones have left the second cache before they are wanted."""

# What a tile reads behind its reduction.

LEAST_FETCHED = 128 << 10
"""Bytes of a tensor; what is smaller is near anyway."""

# What other nests of a group touch.

FEWEST_LINES = 64
"""Fewer are not worth an instruction."""

MOST_ROWS = 4096
"""Rows that what a block touches of a tensor may fall apart into."""

LINE_POINTS = 512
"""Multiply-adds beside which a line can come: 16 cycles of memory, 32 lanes in each."""

JOINED_SHARE = 8
"""A gap that is this part of the piece behind it, such as padding, is fetched as well."""

# Constants of a narrow type, which one row streams through.

STREAM_AHEAD = 4096
"""Bytes ahead: what comes from memory in a latency of it, in the next small page."""

# Short rows that tiles reduce along the lanes.

ROWS_AHEAD = 8192
"""Bytes ahead: a tile is some 4 KB, and the next one is on its way already."""

# What the next block of a group reads.

FEWEST_OPERATIONS = 8.0
"""Vector instructions of a point beside which its fetch costs nothing.

The last nest of a layer normalisation has three; it took 1.2 times as long with fetches.
"""

NEAR_BYTES = 32 << 10
"""A tensor that takes no more is in the first cache anyway."""
