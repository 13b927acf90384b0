"""What no file of the compiler may ask for by name: it is asked of records instead."""

from __future__ import annotations

import re
from pathlib import Path

import relay_tune

SOURCE = Path(relay_tune.__file__).parent

OF_TRIPLES = re.compile(r"triple\.startswith|startswith\(\(?.(x86|aarch|arm64|i686)")

OF_MATRIX_REGISTERS = re.compile(r"(?i)amx|ldtilecfg|tdpbf16|has_matrix_tiles|nest_product")


def found(pattern: re.Pattern[str], own: Path) -> list[str]:
    """The lines of the compiler with a pattern, but for those of a folder."""
    return [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.is_relative_to(own)
        for line in path.read_text(encoding="utf-8").splitlines()
        if pattern.search(line)
    ]


def test_nobody_asks_for_matrix_registers_but_their_record() -> None:
    assert not found(OF_MATRIX_REGISTERS, SOURCE / "targets" / "x86")


def test_nobody_takes_triples_apart_but_the_registry() -> None:
    assert not found(OF_TRIPLES, SOURCE / "targets")
