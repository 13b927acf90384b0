"""The diffs in pages of docs/, applied to copies of files."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def documented_diff(page: str, file: str) -> str:
    """The text of the diff in a page of docs/ that makes or changes a file."""
    text = (ROOT / "docs" / page).read_text()
    diffs: list[str] = re.findall(r"^```diff\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    (found,) = (diff for diff in diffs if f"+++ b/{file}\n" in diff)
    return found


def apply_diff(diff: str, folder: Path) -> list[Path]:
    """Write what a unified diff makes of this tree's files into a folder; their paths there."""
    written = []
    for part in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
        before, after, *lines = part.splitlines()
        old = [] if before == "/dev/null" else (ROOT / before[2:]).read_text().splitlines()
        path = folder / after.removeprefix("+++ b/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(_changed(old, lines)) + "\n")
        written.append(path)
    return written


def _changed(old: list[str], lines: list[str]) -> list[str]:
    """A file with hunks applied, of which each line has to be where it says."""
    new: list[str] = []
    read = 0
    for line in lines:
        hunk = re.fullmatch(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line)
        if hunk is not None:
            begin = max(int(hunk[1]) - 1, 0)
            new += old[read:begin]
            read = begin
            assert len(new) == int(hunk[2]) - 1, line
            continue
        if not line.startswith("+"):
            assert old[read] == line[1:], f"{old[read]!r} is not {line[1:]!r}"
            read += 1
        if not line.startswith("-"):
            new.append(line[1:])
    return new + old[read:]
