"""The interpreter, executables, and measuring.

interpreter                     the reference semantics of the whole language
model, program_model            programs built in this process; open_network for open sizes
load, loaded_program            programs from exported libraries
executable, call_inputs         what they share: named inputs, checks (input_check), calls
native_program, native_session  what ctypes sees of native code
value_reader, value_writer      lists, trees and tuples between Python and native code; leaf_words
data_values                     values of data types, made and taken apart by users
benchmark, profile              times, and how near they are to machine_limits
measuring                       candidates of tuning, in a process that is expendable
target_machine                  what schedules may know of the target; measure_limits, cache_sizes
"""
