"""Measuring candidates in a process that is expendable.

measurer, process, message   the side of the process that tunes
worker, candidate, timing    the side of the process in which candidates run
inputs, task_memory          what they run on; random_inputs makes it, data_folder hands it over
guarded_buffer, paged_buffer show who reads or writes where they should not
"""
