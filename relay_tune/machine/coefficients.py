"""What the cost of a schedule is made of beside rates: the coefficients of the estimate.

Numbers with a fraction were fitted to measured times, and `tune fit` fits them again to those of a
tuning log, but for a few that say what counts as what. These stay, and so do whole numbers: counts
and sizes that processors and compiled code were seen to have. Times are cycles: a core does
`VectorUnit.fused_per_cycle` fused multiply-adds of whole vectors in one. The measurements are of
one core of servers with x86-64, if nothing else is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any

from relay_tune.quick_dataclass import dataclass

STAYS = {"fitted": False}
"""Of numbers with a fraction that say what counts as what, not what it takes."""

SLOWER = {"least": 1.0}
"""Of factors by which something is slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """The coefficients of the estimate, each with where it comes from."""

    # Tiles and the steps of their reductions.

    overlap: float = 0.15
    """How much of the shorter of arithmetic and traffic the longer one does not hide."""

    tile: float = 10.0
    """The beginning and the end of a tile."""

    plain_tile: float = 1.0
    """The same where nothing is reduced."""

    loop_step: float = 0.5
    """An iteration of a loop, beside its body."""

    lane_loop_share: float = 0.5
    """How much of that is left where the lanes of a vector are steps of the reduction."""

    load: float = 0.1
    """What a load costs behind arithmetic: energy, so that some processors slow their clock."""

    spill: float = 2.0
    """A value that finds no register in a step."""

    word_instruction: float = 0.55
    """Cost of each instruction of a dot product of several, in fused multiply-adds.

    On an AMD Zen 3 loops of nothing else say .62 (two for int16) and .68 (three for bytes). Layers
    are then thought faster in float32 that are not, since their weights are larger: 3x3 over 512
    channels of 7x7 takes 1.93 ms in int16 and 2.63 in float32.
    """

    spread_window: float = field(default=1.3, metadata=SLOWER)
    """How much longer written-out steps take that read elements which are spread over the lanes.

    Measured with first layers, one core, rows of taps written out against single steps: 3 to 64
    channels, 224x224: 1.67 and 1.21 ms; 3 to 32 channels, 112x112: 0.20 and 0.15. It is more where
    outputs leave the caches: arithmetic hides less of their transfer.
    """

    most_taps: int = 11
    """Along one axis of a window; longer axes are channels."""

    lane_reduction: float = 24.0
    """Combining the lanes of an accumulator, each level of which waits for the one before."""

    lane_row: float = 3.0
    """What each further accumulator adds whose lanes are combined with those of others."""

    scattered_load: int = 16
    """What a load of a reduction counts, by contiguous ones, in the choice of vector axes that are
    looked at, if its lanes lie apart."""

    scattered_result: int = 4
    """The same of a load of the epilogue, and of a store."""

    least_lane_steps: int = 4
    """Steps of a reduction that are worth the lanes of a vector."""

    # Registers.

    missing_register: float = 0.5
    """How much longer a nest takes by each register that its tile lacks."""

    spare_accumulators: int = 4
    """Accumulators beyond the registers with which a tile is looked at, still."""

    most_code: int = 640
    """Instructions in the body of the innermost loop; more do not fit the nearest code cache."""

    kept_operands: int = 8
    """Operands of a step that stay in registers, at most."""

    window_operands: int = 10
    """The same of the written-out steps of a window."""

    rematerialised_loads: int = 12
    """How many shared values the compiler was seen to load again at no cost."""

    least_operands: int = 4
    """Registers that a window's step needs beside its accumulators; values beyond are loaded
    again."""

    loads_in_flight: int = 2
    """Registers of loads that compiled code has under way where windows keep values.

    Counted in the code of a 3x3 window with 16 results, of which 13 to 14 registers were left
    instead of 15: tiles of 8x2 points 12 accesses for spilled values, 4x4 24 to 29, 4x2 with two
    vectors 48. With 14 results there were none.
    """

    reloads: float = 2.0
    """Accesses to memory for a shared value that finds no register: written once, read once
    more."""

    exposed_reloads: float = 0.2
    """How many of these a window's own values cost beyond that: arithmetic hides most."""

    exposed_shuffles: float = 0.4
    """The same where vectors are put together from elements that lie apart.

    Measured with 3 to 32 channels, a stride of 2, channels first: tiles of 8x3 vectors, all taps of
    a channel written out, 48 accesses to the stack and 137 us; three taps at a time none, and
    102 us.
    """

    shuffled_step: float = field(default=1.6, metadata=SLOWER)
    """How much longer a step with shuffles takes than its instructions.

    Measured with 3x3 convolutions in groups of 2, 4 and 8 channels, 40 to 70 schedules of each of
    five, as is what follows.
    """

    shuffled_register: float = 0.015
    """How much longer still by each missing register."""

    shared_loads: float = field(default=0.9, metadata=STAYS)
    """Of the loads of single steps: with fewer, written-out steps slide over what they share."""

    # Lines of the first cache.

    full_set: float = 1.25
    """How many lines a set of the first cache holds before some are missed, relative to what a
    kernel's data can fill of it.

    Measured with 512 channels in 32 groups, a cache of 12 lines in each set, of which a kernel is
    said to fill 8: tiles whose steps touch 8 to 10 lines of a set take 124 to 126 us, 14 of them
    280. With a stride of 2 and 14, 21, 28, 42 and 70 lines each load takes 1.4, 2.2, 4, 6 and 10
    cycles, so that it counts as that many more bytes.
    """

    overfull_set: float = 1.75
    """The same before all of them are missed."""

    kept_lines: float = 4.0
    """Lines of a window that stay in each set beside what else passes by.

    Measured with depthwise convolutions of 576 channels and a stride of 2, tiles of 28 points:
    13 us, and with 592 channels 8 us; tiles of 7 points: 9 and 8.
    """

    # Traffic beyond the first cache.

    exposed_rereads: float = 0.25
    """What reading the rows of a window again from the second cache costs behind slower transfers.

    Measured where the third cache is a fifth as fast as the second. Where it is nearly as fast, its
    transfers hide little: on a Zen 5 server (190 and 105 GB/s), 144 channels of 56x56, tiles of
    7x2, 4x4, 3x4 and 2x8 points read 0.3, 0.5, 0.7 and 1 times the image again and take 41.7, 45.4,
    45.3 and 51.3 us; 32 channels of 112x112 36.9, 39.4, 39.0 and 44.5 us.
    """

    partial_row: float = field(default=1.5, metadata=SLOWER)
    """How much slower parts of rows come from a cache than whole ones."""

    long_row: int = 1 << 10
    """Bytes of a part that the processor fetches ahead like a whole row."""

    long_far_row: int = 1 << 14
    """The same where it comes from beyond the second cache, under sliding windows.

    Measured with depthwise convolutions of 144 channels, 56x56, tiles of 7 or 8 columns one below
    the other (4 kB of each row) against tiles beside each other: 1.1 to 1.3 times.
    """

    exposed_parts: float = 0.4
    """How much of what parts of rows take longer is not hidden behind the arithmetic of a product.

    Measured with products of 512 and 1024 rows: tiles of 12x32 in panels of 64 columns, or of four
    times 16, take 1.09 to 1.13 times as long as tiles of 6x64.
    """

    exposed_lines: float = 0.3
    """How much of fetching lines from the second cache is not hidden behind small tiles of a sum.

    Measured with tiles of 6x16, one core of Zen 3, sums of 256 steps over rows of 256 and 1024
    bytes, of which panels of both operands take 1.00: one of them as it lies 1.13 and 1.15, both
    1.23, where transfers take .33, .44 and .78 of the arithmetic.
    """

    row_jump: float = 2.3
    """Lines whose time it takes to go on in another row, where a sum reads each element once.

    Measured with sums of the columns of 4.7 MB in the third cache, rows of 1 and 2 kB: whole rows
    27 GB/s, 1 kB of each 20, 512 bytes 17, 256 14, 128 12, 64 7.7 to 9.
    """

    awaited_rows: float = 1.5
    """How much longer rows take from memory of which the next tile reads the same again.

    Measured with 1x1 taps, 256 to 64 channels, 32 images of 56x56 (103 MB), one core of Zen 5:
    tiles of 32 channels 18.3 to 18.6 ms, whether of 7, 8, 12 or 14 rows; of all 64, 6 rows, 12.5.
    With 2 and 4 images, in the third cache, both are as fast. 8 and 16 images: 1.41, 1.47.
    """

    followed_streams: int = 32
    """That processors follow at a time."""

    crowded_streams: float = field(default=2.0, metadata=SLOWER)
    """From beyond the second cache, more streams than that come so much slower.

    Measured with the transform of Winograd's products, 36 streams: 1.9 to 2.3 times.
    """

    followed_rows: float = 32.0
    """Rows of a tile under a window that come as fast as one."""

    crowded_row: float = 1 / 200
    """How much slower each one beyond makes what comes from beyond the second cache.

    Measured with a depthwise convolution of 32 channels, 112x112, from the third cache: tiles of
    2x4 points (32 rows) 126 to 140 us, 4x4 (52) 142, 14x1 (62) 149, 7x4 (82) 154, 28x1 (118) 165.
    """

    outgrown_share: float = 0.5
    """Of the first cache; runs of tiles under a window that touch more are slower."""

    outgrown_run: float = 0.55
    """How much slower, for each time that a run touches twice as much.

    Measured on a Zen 5 server with 20 depthwise convolutions (32 to 1152 channels), 110 to 260
    schedules of each: the two with the best estimates took 1.23 times as long as the three fastest
    without this and the wait of a tile below, 1.13 times with them; 1.9 and 1.1 where the stride is
    2 (560 channels to 7x7: 5.5 us, and 3.2 to 3.7 in blocks).
    """

    outgrown_doublings: float = 2.0
    """How often that counts."""

    rolled_window: float = 0.5
    """How much slower where a loop over the window is left.

    Measured there with 560 and 576 channels to 7x7, tiles of 2x4 points, two vectors: 3.1 us
    written out, 4.2 to 5.5 with a loop over three rows.
    """

    kept_in_second: float = 3.0
    """These two: of what is larger than the second cache, min(this - fall * size, 1) is there, in
    units of the cache, and only that is slower."""

    kept_in_second_fall: float = 1.5
    """See there."""

    window_tile_wait: float = 2.5
    """Cycles that each tile under a window waits for its first lines, from the same
    measurements."""

    # Weights, which come from memory in the run of a network.

    arrival: float = 0.1
    """How much of the time in which weights come from memory no schedule hides."""

    one_stream: float = field(default=1.15, metadata=SLOWER)
    """How much longer weights take from memory if all are read in the order in which they lie.

    Measured with a matrix of 411 MB: columns in packed panels 28.2 to 30.7 ms, 4 to 24 rows of it
    side by side 25.8 to 28.1.
    """

    exposed_weights: float = 0.5
    """How much of the transfer of weights no arithmetic hides, unless it is asked for early."""

    prefetch: float = 0.05
    """What asking for weights early costs, relative to their transfer."""

    unfetched_weights: float = 0.3
    """The part of the time in which weights come from memory that is only hidden by asking for
    them."""

    awaited_weights: float = 0.2
    """How much longer weights of a network take if nothing asks for them early, as a part of the
    time in which they come from memory. What all of them take longer is `arrival`.

    Measured with 3x3 convolutions of 512 channels on 7x7 by Winograd's F(2x2), 16.8 MB of weights
    each: 1.1 ms if these lie in the third cache, 2.2 ms from memory, 1.4 ms from memory and fetched
    ahead.
    """

    least_fetched: int = 128 << 10
    """Bytes of an operand; fewer arrive in no time."""

    lines_at_once: float = 4.0
    """Lines that one group of steps can ask for without waiting."""

    line_wait: float = 2.0
    """Cycles of each further one. Tiles of 8x32 that take 350 and 615 us in the measurements of
    decision 36 take 400 and 690 with eight lines."""

    delayed_panels: float = 0.5
    """How much of the time in which a tile reads its own panel nothing comes from memory."""

    swept_caches: float = 4.0
    """Weights of more second caches than this are found in none of them, whatever their order."""

    swept_tile: float = 0.25
    """How much of a tile's weights would else have been found, as measured in decision 16."""

    longest_stride: int = 1792
    """Bytes between two reads of one load instruction that prefetchers were seen to follow."""

    unfollowed: float = 0.45
    """How much longer weights take from the second cache where strides are longer."""

    # Kernels, groups and threads.

    kernel: float = 1000.0
    """What a kernel costs that does nothing: its call, and the others' waiting for it."""

    nest_wait: float = 12.0
    """A nest of a group waits so long for the last results of the one before, in each block.

    Measured with softmax over 1536 rows of 128: 73 us in blocks of one row, 52 us in blocks of
    eight.
    """

    serial: float = field(default=6000.0, metadata=STAYS)
    """Below about so many cycles a nest stays on one thread: a barrier costs as much."""

    serial_rate: float = field(default=32.0, metadata=STAYS)
    """Bytes a cycle at which what a nest reads counts for that."""

    most_chunks: int = 64
    """Iterations of a parallel loop that are enough for any number of threads."""

    # Sums of halves (Strassen's products).

    halves_kept: float = 3.5
    """Second caches that what lies between the nests may fill at no cost that the nests do not
    know."""

    shared_filled: float = field(default=0.5, metadata=STAYS)
    """The part of a third cache that a kernel is said to fill (`Machine.memories`)."""

    halves_transfers: float = 5.0
    """How often what is beyond that passes by the third cache (measured in
    `relay_tune.schedule.rewrites.strassen.cost`)."""

    def entries(self) -> dict[str, float]:
        """Those that are fitted, as the rows that a tuning log keeps."""
        return {f"{ENTRY}{name}": getattr(self, name) for name in FITTED}

    def with_entries(self, entries: Mapping[str, float]) -> Coefficients:
        """These with what a tuning log keeps; what cannot be one is passed over."""
        found = {name: entries.get(f"{ENTRY}{name}") for name in FITTED}
        return self.changed(
            {name: value for name, value in found.items() if is_possible(name, value)}
        )

    def changed(self, values: Mapping[str, Any]) -> Coefficients:
        """These with other values, by name."""
        return replace(self, **values)


ENTRY = "coefficient "
"""How names of rows in tuning logs begin that hold coefficients."""

WIDEST = 16.0
"""A coefficient is that much larger or smaller than on servers with x86-64, at most."""

FITTED = tuple(
    each.name
    for each in fields(Coefficients)
    if isinstance(each.default, float) and each.metadata.get("fitted", True)
)
"""The names of those that measurements decide."""

MEASURED_ON_SERVERS = Coefficients()
"""What machines have that no log has coefficients for."""


_LEAST: dict[str, float] = {
    each.name: each.metadata.get("least", 0.0) for each in fields(Coefficients)
}


def is_possible(name: str, value: float | None) -> bool:
    """Whether a coefficient can have a value."""
    return value is not None and nearest_possible(name, value) == value


def nearest_possible(name: str, value: float) -> float:
    """The value that a coefficient can have which is nearest to another one."""
    usual: float = getattr(MEASURED_ON_SERVERS, name)
    return min(max(value, usual / WIDEST, _LEAST[name]), usual * WIDEST)
