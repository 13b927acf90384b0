"""A source text, and the locations in it."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from relay_tune.errors import ParseError, Span


class Source:
    """A text with its name; turns character offsets into spans."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        lines = text.splitlines(keepends=True)
        self._line_starts = [0, *accumulate(len(line) for line in lines[:-1])]

    def span(self, start: int, end: int) -> Span:
        """The region of the characters from `start` up to `end`, exclusive."""
        starts = self._line_starts
        line = bisect_right(starts, start)
        end_line = line if end <= starts[line - 1] else bisect_right(starts, end)
        return Span(
            self.name, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1
        )

    def error(
        self,
        message: str,
        start: int,
        end: int,
        *,
        label: str = "",
        notes: tuple[str, ...] = (),
        remedy: str | None = None,
    ) -> ParseError:
        """An error about a region, to be raised by the caller."""
        return ParseError(
            message,
            where=self.span(start, end),
            label=label,
            notes=notes,
            remedy=remedy,
            source_text=self.text,
        )
