"""Relay text in; `parse` is what the rest of the compiler calls. The grammar: docs/language.md."""
