"""Errors of the search."""


class SearchError(ValueError):
    """A space, genome or score that the search cannot work with."""


class EmptySpaceError(SearchError):
    """A space in which no valid genome was found."""
