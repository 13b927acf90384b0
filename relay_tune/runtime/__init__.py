"""The interpreter, executables, and measuring."""
