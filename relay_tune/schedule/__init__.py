"""How a primitive may be computed: nests, choices, spaces, costs, loops.

plan, apply         from a tensor program to nests, and from their schedule to kernels: what the
                    rest of the compiler calls
nests               the loop nests of a program, before anything is chosen
planned_steps       the nests of a program under an algorithm
rewrites            other ways to compute a program; row_groups: nests that share rows
choice, schedule    what is chosen for a nest, and for a program, with its JSON form
space               the choices that a nest leaves open, and the one with the best estimate
cost                what a nest costs under a choice
intrinsics          nests that an instruction on tiles computes
loops               from a choice to loops; loops/prefetch: what they ask for early
features            a scheduled program as numbers, for the cost model
"""
