"""The names of the features of a scheduled program, in their order."""

from __future__ import annotations

DESCRIBED_AXES = 4
"""The innermost axes that are described one by one."""

NEST_NAMES = (
    "log_output_points",
    "log_reduction_points",
    "log_operations",
    "axes",
    "reduction_axes",
    "body_operations",
    "result_operations",
    "store_bytes",
    "body_loads",
    "result_loads",
    "gathers",
    "constant_loads",
    "log_read_by_cache",
    "log_constant_by_cache",
    "log_written_by_cache",
    "log_operations_per_byte",
)

AXIS_NAMES = tuple(
    f"axis{position}_{name}"
    for position in range(DESCRIBED_AXES)
    for name in ("log_extent", "log_tile", "log_tiles", "edge", "position", "reuses")
)

CHOICE_NAMES = (
    "vector_of_reduction",
    "scalar",
    "vector_from_end",
    "log_lanes_by_width",
    "vectors",
    "lanes_used",
    "store_is_vector",
    "streamed_loads",
    "broadcast_loads",
    "scattered_loads",
    "log_tile_points",
    "log_unroll",
    "order_is_stored",
    "innermost_reuses",
    "log_innermost_tiles",
    "log_innermost_reduction",
    "innermost_reduction_contiguous",
    "reduction_order_is_stored",
    "log_chunks",
    "log_chunks_per_thread",
    "imbalance",
    "log_threads",
    "log_blocks",
    "log_tile_by_first_cache",
    "log_row_by_first_cache",
    "log_row_by_second_cache",
    "log_plane_by_second_cache",
    "tile_cache_level",
    "row_cache_level",
    "plane_cache_level",
    "log_reuse_of_loads",
)

ESTIMATE_NAMES = (
    "log_cycles",
    "log_compute_cycles",
    "log_memory_cycles",
    "log_memory_share",
    "log_cycles_per_operation",
    "accumulators_by_registers",
    "operands_by_registers",
    "registers_over",
    "wanted_by_registers",
    "log_code",
    "waste",
    "loads_per_operation",
    "log_tiles",
    "log_operations_per_tile",
)

GROUP_NAMES = (
    "log_repeats",
    "log_near_by_first_cache",
    "log_near_by_second_cache",
)

SECOND_NAMES = (
    "second_share",
    "second_vector_of_reduction",
    "second_log_lanes_by_width",
    "second_vectors",
    "second_log_tile_points",
    "second_log_unroll",
    "second_log_tiles",
    "second_loads_per_operation",
)

PROGRAM_NAMES = (
    "nests",
    "log_other_cycles",
    "other_share",
    "log_other_points",
    "log_fixed_cycles",
    "log_total_cycles",
)

FEATURE_NAMES = (
    *NEST_NAMES,
    *AXIS_NAMES,
    *CHOICE_NAMES,
    *ESTIMATE_NAMES,
    *GROUP_NAMES,
    *SECOND_NAMES,
    *PROGRAM_NAMES,
)
"""The names of the features, in their order."""
