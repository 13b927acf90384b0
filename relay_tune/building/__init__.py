"""From a module to a native program: primitives compiled, memory planned, everything linked.

build                    what users call, through tuning
program_form             which way a module is built: as a network or as a program
network, assemble        a straight-line function: steps over memory, then one main function
programs, program_steps  control flow: a first-order program, and what it does to run a kernel
primitives               each distinct kernel: scheduled, written, compiled once
default_schedules        what untuned kernels run, planned once
planned_ahead            default schedules chosen by other processes (schedule_worker, plain_data)
constant_block           all constants in one block of memory
"""
