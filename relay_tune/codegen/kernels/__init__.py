"""From the loop nest of a kernel to an LLVM function.

kernel_writer                  the function; kernel_module, which the compiler takes
statement_writer               statements by their kinds: loop_writer, branch_writer, let_writer,
                               matrix_writer; block_edges, carried_registers where blocks meet
value_writer, operations       scalar expressions; float_operations, integer_operations, casts
load_writer, store_writer      memory; stored_values for what is stored narrow or as bytes,
                               strided_loads, transposing, pending_stores for lanes apart,
                               streamed_stores for large fills
index_writer, index_quotients  indices and offsets
"""
