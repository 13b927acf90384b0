"""Simplifications of calls of neural-network operators."""
