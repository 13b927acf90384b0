"""Errors of the tuning log as errors of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import logs
from relay_tune.errors import InputError


@contextmanager
def log_errors() -> Iterator[None]:
    """LogErrors inside become InputErrors with the same words, as sentences."""
    try:
        yield
    except logs.LogError as error:
        raise InputError(
            _sentence(error.what), where=error.where, remedy=_sentence(error.remedy)
        ) from error


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
