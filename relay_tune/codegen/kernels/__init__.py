"""From the loop nest of a kernel to an LLVM function.

statement_writer               loops and statements; what the compiler calls
value_writer, operations       scalar expressions; float_operations, integer_operations, casts
load_writer, store_writer      memory; stored_values for what is stored narrow or as bytes,
                               strided_loads, transposing, pending_stores for lanes apart
index_writer, index_quotients  indices and offsets
"""
