"""Kernels of a network so that their memory stays within a limit.

steps            the kernels as numbers: what each reads, writes and costs
prompt_order     the order in which what takes no more memory runs as soon as it can
short_lives      an order of kernels in which results do not wait long
repeated_steps   which results are dropped and computed again, for some room
within_limit     the cheapest sequence whose plan of memory is within a limit
limited_region   the same for a region with compiled kernels
limited_program  and for a program
segmented_program  with recurrences in segments
ordered_program  programs without a limit, in the order that needs less
"""
