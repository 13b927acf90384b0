"""Programs of first-order functions over basic blocks: what control flow and closures become.

lower_program, lower_body       from a fused module; body_values, lower_patterns,
                                primitive_calls
program                         functions and whole programs
instructions, terminators       what blocks consist of; block_builder writes them
kinds, layouts, object_layouts  what values are at run time, and how objects lie in memory
reference_counts                where objects are retained and released
form_regions, region            kernels that run together in memory that is planned ahead
region_sizes                    their sizes, as expressions where they are dynamic
borrowed_inputs, results_in_place   what is read and written in the caller's memory
defer_kernels, row_batches      kernels that wait for each other, and many calls as one
open_primitive                  primitives with sizes that are known at run time only
"""
