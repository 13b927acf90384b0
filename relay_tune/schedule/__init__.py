"""How a primitive may be computed: nests, choices, spaces, estimates, features.

plan, apply                from a tensor program to nests, and from their schedule to kernels:
                           what the rest of the compiler calls
rewrites                   other ways to compute a program; row_groups: nests that share rows
inline, nest, analysis     the loop nests of a program, and what can be said of them beforehand
choice, schedule           what is chosen for a nest, and for a program, with its JSON form
space, alternatives        the choices that a nest leaves open, and their values
default_choice, estimates  the choice of a nest that was never tuned, and what choices cost
intrinsics                 nests that an instruction on tiles computes
features                   a scheduled program as numbers, for the cost model
tile, register_tile        from a choice to loops; outer_loops, write_order, lane_reduction,
                           loop_shapes
packing, panels            operands in the order in which kernels read them; packed_loads
prefetching                operands fetched ahead; neighbour_prefetch, tile_fetches,
                           epilogue_fetches; fetch_limits: how much
"""
