"""Loop nest to LLVM IR to machine code; targets; the native runtime.

target                         the machine that code is made for; processor_features, target_check
kernels, vector_math           a loop nest as an LLVM function
arithmetic, llvm_types         what all writers of LLVM IR share; function_writer, size_writer
builder                        functions with typed values and structured control flow
main_function, sweeps          a region as one function that calls its kernels; kernel_calls
programs                       a program as one LLVM module
direct                         calls from Python as native functions
native_runtime                 the thread pool, part of every program
compiler, compiler_pool        text to machine code, here or in worker processes; compile_worker
loaded_code                    machine code in this process
compiled_code                  what every compiled program has
export, linking                a program as a shared library
compiler_runtime               functions of a library that no system has
limit_loops, arithmetic_loops  loops that measure the machine
"""
