"""Sums over rows that a recursion adds up: their rows are collected, and summed once."""
