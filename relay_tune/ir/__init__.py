"""The language: dimensions, types, expressions, modules, and their text."""
