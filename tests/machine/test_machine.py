"""A machine as data: equal ones are found, in this process and in others."""

from __future__ import annotations

import pickle
from dataclasses import replace
from math import inf

from relay_tune.machine.machine import PRIVATE_CACHES, MemoryScope
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from tests.schedule.machines import SERVER, TILES, core


def test_equal_machines_are_one_key() -> None:
    assert core(64, 32) == SERVER and hash(core(64, 32)) == hash(SERVER)
    assert {SERVER: 1}[core(64, 32)] == 1
    slower = replace(SERVER, memories=(*SERVER.caches, replace(SERVER.main, rate=4.0)))
    assert slower != SERVER and TILES != SERVER
    other = replace(SERVER, coefficients=replace(SERVER.coefficients, overlap=0.3))
    assert other != SERVER and hash(other) != hash(SERVER)


def test_machines_are_copied_and_sent() -> None:
    for machine in (TILES, replace(TILES, coefficients=replace(TILES.coefficients, overlap=0.3))):
        again = pickle.loads(pickle.dumps(machine))
        assert again == machine and hash(again) == hash(machine)


def test_the_last_memory_has_room_for_everything() -> None:
    assert (SERVER.main.scope, SERVER.main.bytes) == (MemoryScope.MAIN, inf)
    assert SERVER.last_cache is SERVER.caches[-1] is SERVER.memories[-2]
    assert [memory.scope for memory in SERVER.caches].count(MemoryScope.CORE) == PRIVATE_CACHES


def test_an_intrinsic_is_found_by_its_pattern() -> None:
    assert SERVER.intrinsic(BFLOAT16_PAIRS) is None
    assert TILES.intrinsic(BFLOAT16_PAIRS) is TILES.intrinsics[0]
