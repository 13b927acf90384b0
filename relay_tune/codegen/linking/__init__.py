"""The linker: relocatable ELF objects, made by LLVM, to one shared object for Linux.

elf               the structures of the file format
object_file       objects, as LLVM writes them, taken apart
system_symbols    the functions of the C library, and since which version it has them
symbol_table      who defines which symbol
layout            which section lies where, in the file and in memory
relocation        what the instructions and words that name an address become
dynamic           the tables that the system's loader reads
shared_object     all of it, written to a file
note              what a library says of itself: its size, its checksum, where its description is
"""
