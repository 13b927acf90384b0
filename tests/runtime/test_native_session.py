"""Sessions of native programs: when they end."""

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime import native_session
from relay_tune.runtime.native_session import SessionFunctions

TEXT = """
def @main(%n: int32, %x: Tensor[(?), float32]) { if (%n < 1) { exp(%x) } else { %x } }
"""


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """For each session that was closed, a weak reference to its machine code."""
    found: list[Callable[[], object]] = []
    close = native_session._close

    def record(functions: SessionFunctions, session: int) -> None:
        assert isinstance(functions.owner, tuple)
        (code,) = (part for part in functions.owner if isinstance(part, LoadedCode))
        found.append(weakref.ref(code))
        close(functions, session)

    monkeypatch.setattr(native_session, "_close", record)
    return found


def test_a_model_in_a_cycle_of_references_is_freed(closed: list[Callable[[], object]]) -> None:
    """Its session ends before its machine code goes, though both are garbage at once."""
    for count in range(1, 6):
        model = build(parse(TEXT), threads=1)
        model(1, np.ones(3, "float32"))
        cycle: list[object] = [model]
        cycle.append(cycle)
        vars(model)["cycle"] = cycle
        watched = weakref.ref(model)
        del model, cycle
        assert watched() is not None
        gc.collect()
        assert watched() is None
        assert len(closed) == count
        assert closed[-1]() is None
