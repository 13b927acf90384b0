"""What the pages of the documentation hold: blocks of code, and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs_console import PAGES, ROOT

FENCED = re.compile(r"```([\w-]*)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:`|^\$ |&& \S*/)(tune [^`\n|&]+)", re.MULTILINE)


def name_of(page: Path) -> str:
    """The path of a page from the root of the tree."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> Iterator[str]:
    """The blocks of code of a page that are in a language."""
    for block in FENCED.finditer(page.read_text()):
        if block[1] == language:
            yield block[2]


def mentioned_commands() -> list[tuple[str, str]]:
    """Each page with each `tune ...` in it."""
    found = {
        (name_of(page), match[1].strip())
        for page in PAGES
        for match in COMMAND.finditer(page.read_text())
    }
    return sorted(found)
