"""Indices: which arguments are some, where they come from, and how large integers can be."""
