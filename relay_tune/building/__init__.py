"""From a module to a native program: primitives compiled, memory planned, everything linked.

build                    what users call, through tuning
program_form             the passes that a module needs, and the kernels of a lowered one
programs, program_steps  the compiled program, and what it does to run a region (region_layout)
primitives               each distinct kernel: scheduled, written, compiled once
default_schedules        what untuned kernels run, planned once
planned_ahead            default schedules chosen by other processes
workers                  these processes, which compile, too (worker, plain_data)
recomputation            kernels that run again, so that memory stays within a limit
constant_block           all constants in one block of memory
"""
