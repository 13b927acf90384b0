"""Kernels of operators of neural networks."""
