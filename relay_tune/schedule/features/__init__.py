"""A scheduled program as numbers that a cost model learns from."""
