"""Processors with the instructions of x86-64."""
