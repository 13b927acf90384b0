"""From the loop nest of a kernel to an LLVM function.

statement_writer               loops and statements; what the compiler calls
value_writer, operations       scalar expressions
load_writer, store_writer      memory; strided_loads, transposing, pending_stores for lanes apart
index_writer, index_quotients  indices and offsets
"""
