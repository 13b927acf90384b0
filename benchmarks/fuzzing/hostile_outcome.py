"""What becomes of a Relay text that asks for too much, from reading to a built program."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from benchmarks.fuzzing.damaged_programs import outcome
from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.ir.parser.parse import parse

MEMORY_LIMIT = 4 << 30


def hostile_outcome(text: str) -> Iterator[str]:
    """What is wrong; nothing where the text is refused with a place, or typed and built."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    found = outcome(text)
    if found.startswith("wrong"):
        yield found[:600]
    if found != "accepted":
        return
    try:
        build(parse(text), threads=1)
    except RelayError as error:
        if not (error.remedy or error.where or error.notes):
            yield f"wrong: no way out in: {error}"
    except Exception as error:  # noqa: BLE001  (that is what is looked for)
        yield f"wrong: build: {type(error).__name__}: {str(error)[:300]}"
