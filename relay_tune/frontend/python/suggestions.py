"""What to write in place of what Python has and a program does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DECORATE = "Decorate functions that are to be translated with @rt.relay."
OUTSIDE = "make {} outside of the function; an array of numpy is a constant of the program"

FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "print": "A program has no output but its result: return the value, too.",
        "enumerate": "Write `for i in range(len(x))` and x[i], which lists and tensors have.",
        "sorted": "Of tensors, write sort(x); lists of the prelude are not sorted.",
        "var": "Write variance(x, np.mean(x, axis=0, keepdims=True), axis=0), with your axes.",
        "std": "Write np.sqrt(variance(x, np.mean(x, axis=0, keepdims=True), axis=0)), with your "
        "axes.",
        "tril": f"Write np.where(MASK, x, 0.0) and {OUTSIDE.format('MASK = np.tril(..)')}.",
        "triu": f"Write np.where(MASK, x, 0.0) and {OUTSIDE.format('MASK = np.triu(..)')}.",
        "einsum": "Write it with `@`, np.transpose and np.sum: 'ij,jk->ik' is x @ y.",
        "dot": "Write x @ y.",
        "matmul": "Write x @ y.",
        "arange": f"Write I and {OUTSIDE.format('I = np.arange(.., dtype=..)')}.",
        "array": f"Write A and {OUTSIDE.format('A = np.array(..)')}.",
        "norm": "Write np.sqrt(np.sum(x * x)).",
        "isinstance": "Types are known before the program runs; match tells data types apart.",
        "open": "A program reads no files: give what is in it as an input.",
    }
)
"""For functions of Python and numpy, by name."""

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "append": "Values do not change: write [f(x) for x in xs], or xs = Cons(x, xs) and "
        "reversed(xs) in the end.",
        "extend": "Values do not change: write concat(xs, ys) for lists of the prelude.",
        "pop": "Values do not change: take a list apart with match, [first, *rest].",
        "flatten": "Write x.reshape(-1).",
        "ravel": "Write x.reshape(-1).",
        "dot": "Write x @ y.",
        "var": FUNCTIONS["var"],
        "std": FUNCTIONS["std"],
        "copy": "Values do not change: use x itself.",
        "item": "A tensor of no dimensions is a number: use x itself.",
    }
)
"""For methods, by name."""
