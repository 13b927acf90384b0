"""LLVM functions that are written with typed values and structured control flow.

signature           what a function takes and gives
operand             a typed value, and its arithmetic; location: a typed word of memory
function_builder    one function under construction; control_flow: its blocks and local variables
native_module       functions and variables together, and what they need from elsewhere
"""
