"""Nests that an intrinsic of the machine computes: their match, choices and costs."""
