"""The error of a tensor whose derivative cannot be derived."""

from __future__ import annotations

from relay_tune.errors import BuildError


class UnderivableError(BuildError):
    """The derivative of a tensor is asked for that no expression computes."""
