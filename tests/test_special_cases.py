"""What no file of the compiler may ask for by name: it is asked of records instead."""

from __future__ import annotations

import re
from pathlib import Path

import relay_tune

SOURCE = Path(relay_tune.__file__).parent

OF_MATRIX_REGISTERS = re.compile(r"(?i)amx|ldtilecfg|tdpbf16|has_matrix_tiles|nest_product")

TABLES = {SOURCE / "codegen/processor_features.py"}
"""Features by their bits of CPUID."""


def test_nobody_asks_for_matrix_registers_but_their_record() -> None:
    own = SOURCE / "targets" / "x86"
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.is_relative_to(own) and path not in TABLES
        for line in path.read_text(encoding="utf-8").splitlines()
        if OF_MATRIX_REGISTERS.search(line)
    ]
    assert not found
