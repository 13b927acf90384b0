"""The console blocks of the documentation, run and compared, or written anew.

A block begins with `$ tune ...` (perhaps `| head -N`) and goes on with what the command prints.
`python -m tests.docs_console` from the root of the tree writes all blocks anew.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from relay_tune.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK = re.compile(r"(```console\n\$ )(tune [^\n]*)\n(.*?)(```)", re.DOTALL)


@dataclass(frozen=True)
class Console:
    """One block: the command line, and what the page says that it prints."""

    page: Path
    command: str
    printed: str


def consoles() -> Iterator[Console]:
    """All console blocks of all pages."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text()):
            yield Console(page, block[2], block[3])


def output_of(command: str) -> str:
    """What a command of a block prints, run from the root of the tree."""
    words, _, head = command.removeprefix("tune ").partition(" | head -")
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured), contextlib.chdir(ROOT):
        code = main(words.split())
    if code != 0:
        raise RuntimeError(f"{command} ended with code {code}")
    lines = captured.getvalue().splitlines(keepends=True)
    return "".join(lines[: int(head)] if head else lines)


def rewrite(page: Path) -> None:
    """Write what the commands of a page print into the page."""
    page.write_text(
        _BLOCK.sub(lambda m: f"{m[1]}{m[2]}\n{output_of(m[2])}{m[4]}", page.read_text())
    )


if __name__ == "__main__":
    for each in PAGES:
        rewrite(each)
