"""What the measuring worker keeps of tasks, and what it lets go first."""

from __future__ import annotations

import numpy as np

from relay_tune.runtime.measuring.inputs import MeasureInputs
from relay_tune.runtime.measuring.task_memory import HeldTasks, held_bytes
from relay_tune.schedule.packing import PackedAxis, PackRecipe

COUNT = 1 << 10
BYTES = 4 * COUNT


def data_of(constants: int) -> MeasureInputs:
    arrays = tuple(np.full(COUNT, n, np.float32) for n in range(constants))
    return MeasureInputs((), arrays, ())


def recipe(tile: int) -> PackRecipe:
    return PackRecipe(0, (PackedAxis(COUNT, 1, tile),), ())


def test_tasks_stay_until_there_are_too_many() -> None:
    tasks = HeldTasks(3 * BYTES)
    for name in ("a", "b", "c"):
        tasks.put(name, data_of(1))
    tasks.use("a")
    tasks.put("d", data_of(1))
    assert tasks.names == ["c", "a", "d"]


def test_the_one_in_use_stays_however_large_it_is() -> None:
    tasks = HeldTasks(BYTES)
    tasks.put("small", data_of(1))
    tasks.put("large", data_of(9))
    assert tasks.names == ["large"]


def test_a_constant_is_packed_once() -> None:
    task = HeldTasks(9 * BYTES)
    task.put("a", data_of(1))
    memory = task.use("a")
    packed = memory.constant(0, recipe(16))
    assert packed.ctypes.data % 64 == 0
    assert memory.constant(0, recipe(16)) is packed
    assert memory.constant(0, recipe(32)) is not packed
    assert memory.bytes == 3 * BYTES


def test_packed_constants_of_others_go_before_their_data() -> None:
    tasks = HeldTasks(3 * BYTES)
    tasks.put("a", data_of(1))
    tasks.use("a").constant(0, recipe(16))
    tasks.put("b", data_of(1))
    tasks.use("b").constant(0, recipe(16))
    tasks.shrink()
    assert tasks.names == ["a", "b"]
    assert tasks.use("a").bytes == BYTES


def test_a_task_alone_lets_go_of_the_oldest_packed_constants() -> None:
    tasks = HeldTasks(3 * BYTES)
    tasks.put("a", data_of(1))
    memory = tasks.use("a")
    first = memory.constant(0, recipe(16))
    second = memory.constant(0, recipe(32))
    memory.constant(0, recipe(64))
    tasks.shrink()
    assert memory.constant(0, recipe(32)) is second
    assert memory.constant(0, recipe(16)) is not first


def test_a_share_of_the_memory_of_the_machine() -> None:
    assert 0 < held_bytes() <= 1 << 30


def test_there_are_as_many_sets_of_outputs_as_wanted() -> None:
    tasks = HeldTasks(99 * BYTES)
    outputs = (np.zeros(COUNT, np.float32), np.zeros(3, np.int64))
    tasks.put("a", MeasureInputs((), (), outputs))
    memory = tasks.use("a")
    before = memory.bytes
    output_sets = memory.output_sets(4)
    assert output_sets[0] is memory.outputs and len(output_sets) == 4
    addresses = [buffer.address for buffers in output_sets for buffer in buffers]
    assert len(set(addresses)) == 8
    assert [buffer.content.nbytes for buffer in output_sets[3]] == [BYTES, 24]
    assert memory.output_sets(2) == output_sets[:2]
    assert memory.bytes == before + 3 * (BYTES + 24)
