"""Canonical JSON and the SHA-256 digests that reveal a changed row.

A digest guards against accidents (bit flips, stray SQL), not against a forger; it is no signature.
"""

import hashlib
import json
from typing import Any, NoReturn


def canonical_json(value: Any) -> str:
    """The one JSON text of `value`: sorted keys, no blanks, ASCII only.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def parse_json(text: str) -> Any:
    """The value of a JSON text that may come from a stranger.

    Raises ValueError for everything unusable: bad syntax, NaN, infinities, nesting too deep.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def digest_of(*content: str | int | float | None) -> str:
    """SHA-256, as hexadecimal text, of the canonical JSON list of `content`."""
    return hashlib.sha256(canonical_json(content).encode("ascii")).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
