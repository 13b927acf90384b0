"""Choosing the order of the axes that tensors have in memory."""
