"""Rewrites of single operator calls, one small function each, in tables by operator name."""
