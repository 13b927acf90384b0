"""The architectures that code is generated for, each a record in a file or folder of its own.

registry                   the record of a triple: one of ours, or of an installed package
x86                        those of Intel and AMD with 64 bits, and their instructions on tiles
aarch64, riscv64           the others
"""
