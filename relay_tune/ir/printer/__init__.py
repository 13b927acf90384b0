"""Relay text out; `astext` is what the rest of the compiler calls."""
