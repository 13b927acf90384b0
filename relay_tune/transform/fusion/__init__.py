"""Partitioning a graph of operator calls into kernels."""
