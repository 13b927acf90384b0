"""Replacements to suggest for Python constructs that a program does not have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DECORATE = "Decorate functions that are to be translated with @rt.relay."
OF_NUMPY = (
    "Compute it outside of the function where it does not depend on inputs: an array is a constant "
    "of the program. Else write it with operators; docs/language.md lists them."
)

FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "print": "A program has no output but its result: return the value, too.",
        "sorted": "Of tensors, write np.sort(x); lists of the prelude are not sorted.",
        "dot": "Write x @ y.",
        "arange": 'Write dyn.arange(0, n, 1, dtype="int32") where only the run tells n.',
        "norm": "Write np.sqrt(np.sum(x * x)).",
        "isinstance": "Types are known before the program runs; match tells data types apart.",
        "open": "A program reads no files: give what is in it as an input.",
    }
)
"""For functions of Python and numpy, by name."""

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "append": "Write xs.append(x) as a statement of its own, for a list that the function has "
        "assigned: it gives xs a longer list.",
        "extend": "Values do not change: write concat(xs, ys) for lists of the prelude.",
        "pop": "Values do not change: take a list apart with match, [first, *rest].",
        "flatten": "Write x.reshape(-1).",
        "ravel": "Write x.reshape(-1).",
        "dot": "Write x @ y.",
        "copy": "Values do not change: use x itself.",
        "item": "A tensor of no dimensions is a number: use x itself.",
    }
)
"""For methods, by name."""
