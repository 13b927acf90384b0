"""What becomes of a library that may be damaged: refused, or loaded and called."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import relay_tune as rt
from relay_tune.errors import RelayError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = np.maximum(2 * X - 1, 0)


def outcome(path: str, is_forged: bool) -> Iterator[str]:
    """What becomes of a library; what begins with `wrong` is a defect."""
    try:
        model = rt.load(path)
        if is_forged:
            yield "loaded"
            return
        is_right = np.array_equal(np.reshape(np.asarray(model(X)), (2, 3)), RIGHT)
        yield "right" if is_right else "wrong: another answer"
    except RelayError as error:
        yield "refused" if error.remedy else f"wrong: no way out in: {error}"
    except Exception as error:  # noqa: BLE001  (that is what is looked for)
        yield f"wrong: {type(error).__name__}: {error}"
