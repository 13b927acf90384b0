"""The interpreter, executables, and measuring.

interpreter                     the reference semantics of the whole language
executable                      a program that can be called: built here (model) or loaded
                                (loaded_program, load); call_inputs and input_check check inputs
native_calls                    its sessions; program_call runs it in one, native_session is what
                                ctypes sees of that
value_reader, value_writer      lists, trees and tuples between Python and native code; leaf_words
data_values                     values of data types, made and taken apart by users
benchmark, profile              times, and how near they are to machine_limits
measuring                       candidates of tuning, in a process that is expendable
target_machine                  what schedules may know of the target: measure_limits, which
                                kept_limits keeps from process to process; cache_sizes
"""
