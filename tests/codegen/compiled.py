"""Code in this process, compiled once for all runs of it that follow each other."""

from __future__ import annotations

from functools import lru_cache

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target

REMEMBERED = 8
"""Code that is kept: a test runs it on several numbers of threads, and at both ends of a page."""


@lru_cache(maxsize=REMEMBERED)
def compiled(text: str, names: tuple[str, ...], target: Target) -> LoadedCode:
    """The functions of an LLVM module. Raises BuildError if code generation fails."""
    return LoadedCode([compile_text(text, target)], names)
