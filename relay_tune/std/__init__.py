"""The prelude: data types and functions that programs share, written in Relay text."""

from relay_tune.std.select import constructor, prelude, with_prelude

__all__ = ["constructor", "prelude", "with_prelude"]
