"""Claims of shares, as threads of a run make them."""

import ctypes

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.native_runtime.runtime_text import (
    RUNTIME_SYMBOLS,
    SLOT_BYTES,
    runtime_text,
)
from relay_tune.codegen.target import native_target

TARGET = native_target()
CODE = LoadedCode([compile_text(runtime_text(TARGET.triple), TARGET)], RUNTIME_SYMBOLS)
SLOT = (ctypes.c_int64 * (SLOT_BYTES // 8 + 8))()
ADDRESS = (ctypes.addressof(SLOT) + 63) // 64 * 64


def called(name: str, *arguments: int) -> int:
    function = ctypes.CFUNCTYPE(ctypes.c_int64)(CODE.address(f"relay_tune_{name}"))
    return int(function(*map(ctypes.c_int64, arguments)))


def claims(queue: int, queues: int, grain: int) -> list[int]:
    """All shares that a thread gets when no other one comes."""
    return list(iter(lambda: called("claim", ADDRESS, queue, queues, grain, 0), -1))


def test_each_share_is_claimed_once_own_ones_first() -> None:
    called("next_round")
    assert claims(1, 3, 2) == [2, 3, 4, 5, 0, 1]
    assert claims(0, 3, 2) == []


def test_a_new_round_begins_anew() -> None:
    for _ in range(2):
        called("next_round")
        assert called("claim", ADDRESS, 0, 1, 4, 0) == 0
        called("complete", ADDRESS, 4, 4)  # returns: all are finished


def test_turns_flip_once_a_round() -> None:
    word = ctypes.c_int64(0)
    found = []
    for _ in range(4):
        called("next_round")
        found.append({called("turn", ctypes.addressof(word)) for _ in range(3)})
    assert found in ([{0}, {1}] * 2, [{1}, {0}] * 2)
