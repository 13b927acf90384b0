"""Adjoints of the operators of networks."""
