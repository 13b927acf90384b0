"""Processors with the 64-bit instructions of Arm."""
