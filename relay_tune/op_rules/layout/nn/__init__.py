"""Layouts of operators of neural networks."""
