"""The session: the heap and the stack that a program runs on.

offset 0     the caller's stack pointer while a program runs, or its `jmp_buf`
       8     where the session's own stack begins (its highest address), if it has one
       16    below this address, recursion is too deep
       24    the number of the error that ended the last run, 0 if there was none
       32    the list of memory regions
       40    inputs, 48 outputs: the tables of the current call
       56    threads
       64    how many kernels wait, 72 the greatest depth of their results, 80 the results' bytes
       88    the index that ended the last run because it was out of range, 96 the size of its axis,
             -1 if there was none
       104   memory that the caller gives for outputs: null, or a Store for each component of the
             result
       112   the free list of each size class
       ...   values between functions: results beyond the first, arguments beyond the registers
       ...   the kernels that wait (`relay_tune.codegen.programs.queue_functions`)
"""

from __future__ import annotations

from relay_tune.codegen.word_table import ADDRESS, NUMBER, Word
from relay_tune.program.layouts import SIZE_CLASSES

SAVED_STACK, STACK_TOP, STACK_LIMIT, ERROR, REGIONS, INPUTS, OUTPUTS, THREADS = range(0, 64, 8)
QUEUED, DEEPEST, QUEUED_BYTES = range(64, 88, 8)
FAILED_INDEX, FAILED_SIZE = 88, 96
STORES = 104
FREE_LISTS = 112
PASSED = FREE_LISTS + 8 * SIZE_CLASSES

STACK_BYTES = 256 << 20
STACK_RESERVE = 4 << 20
"""What kernels and the system's functions may use below the limit: buffers of kernels lie on the
stack, 890 KB were seen."""

NO_ERROR, NO_MEMORY, WRONG_PROCESSOR, TOO_DEEP = range(4)
FIRST_MESSAGE = 4
"""Errors of the program itself are counted from here."""

NO_MEMORY_MESSAGE = "There is no memory for the values of the program."
TOO_DEEP_MESSAGE = (
    f"Recursion too deep: the calls of the program need more than {STACK_BYTES >> 20} MiB of stack."
)
MESSAGES = (
    "There was no error.",
    NO_MEMORY_MESSAGE,
    "The program is made for another processor.",
    TOO_DEEP_MESSAGE,
)
"""What the numbers below FIRST_MESSAGE mean."""


class Store(Word):
    """Memory that the caller gives for an output, or null; how many rows there is room for; where
    to put the sizes of the output, or null."""

    MEMORY = ADDRESS
    ROWS = NUMBER
    SIZES = ADDRESS


def session_bytes(passed: int) -> int:
    """The size of a session through which functions pass at most so many values at a time."""
    return PASSED + 8 * passed
