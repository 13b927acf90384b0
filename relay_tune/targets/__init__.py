"""The processors that code is generated for.

x86                        those of Intel and AMD with 64 bits
"""
