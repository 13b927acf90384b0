"""First-order programs as LLVM IR: functions, heap, sessions and entry points.

program_text                a program as one LLVM module: what the rest of the compiler calls
function_text               one function: arguments, instruction_writer, scalar_writer
region_step, region_writer  the kernels that a program calls; tensor_room
queue_functions, queue_steps  the kernels that wait until results are needed
heap, counts, object_writer objects and their counts; layout_tables, values
session, session_functions  what a run has: heap, stack (stack_switch), regions of memory
entry_text, build_values    how callers enter, and pass large values in and out; read_values
session_object              what is compiled once for all programs
library, library_functions  a program as a shared library; library_header, c_interface
"""
