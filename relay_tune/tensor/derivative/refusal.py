"""What is raised where a tensor has no derivative that could be derived."""

from __future__ import annotations

from relay_tune.errors import BuildError


class UnderivableError(BuildError):
    """The derivative of a tensor is asked for that no expression computes."""
