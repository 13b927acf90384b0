"""Primitives whose schedules other processes choose."""

import subprocess
from collections.abc import Iterator

import pytest

from relay_tune.building import planned_ahead as module
from relay_tune.building import workers as processes
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.planned_ahead import planned_ahead, start_early
from relay_tune.building.primitive import Primitive
from relay_tune.building.workers import BuildWorkers
from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tuning.tuned_build import build
from relay_tune.typing.infer import infer_types
from relay_tune.zoo import build as zoo_build
from tests.schedule.machines import core

MACHINE = core(32, 16)


def primitive(size: int) -> Primitive:
    x = input_tensor("x", (size, 8), "float32")
    y = compute("y", (size, 8), lambda i, j: x[i, j] + 1.0)
    given = Var("x", TensorType((size, 8), "float32"))
    key, function = PrimitiveKey(f"ahead{size}", f"add {size}"), Function((given,), given)
    return Primitive(key, TensorProgram((x,), (y,), ()), function)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Workers start at once, on two processors; the processes that are started."""
    found: list[subprocess.Popen[bytes]] = []
    start = processes.start_worker

    def noted(name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        found.append(start(name, arguments))
        return found[-1]

    monkeypatch.setattr(module, "STARTING_SECONDS", -1.0)
    monkeypatch.setattr(processes, "available_processors", lambda: 2)
    monkeypatch.setattr(processes, "start_worker", noted)
    yield found


def ordered(primitives: list[Primitive], defaults: DefaultSchedules) -> list[Primitive]:
    with BuildWorkers(native_target(), defaults) as workers:
        return list(planned_ahead(primitives, defaults, workers))


def test_schedules_are_those_that_this_process_chooses(
    started: list[subprocess.Popen[bytes]],
) -> None:
    primitives = [primitive(size) for size in range(3, 9)]
    defaults = DefaultSchedules(MACHINE, 2)
    found = ordered(primitives, defaults)
    assert sorted(p.key.digest for p in found) == sorted(p.key.digest for p in primitives)
    (process,) = started
    assert "relay_tune.building.worker" in process.args
    known = [p for p in primitives if not defaults.are_missing(p.key.digest)]
    assert known, "the worker has chosen none"
    for each in primitives:
        plan = plan_program(each.program)
        expected = plan_program(each.program).default_schedule(MACHINE, 2)
        assert defaults.of(each.key.digest, plan).to_json() == expected.to_json()


def test_what_a_log_knows_is_left_to_the_caller(started: list[subprocess.Popen[bytes]]) -> None:
    primitives = [primitive(size) for size in range(10, 14)]
    defaults = DefaultSchedules(MACHINE, 2, is_needed=lambda digest: False)
    assert ordered(primitives, defaults) == primitives
    assert not started


def test_few_primitives_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "start_worker", None)
    primitives = [primitive(size) for size in range(20, 24)]
    assert ordered(primitives, DefaultSchedules(MACHINE, 2)) == primitives


def test_a_network_is_the_same_with_processes_as_without(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = zoo_build("mlp", small=True)
    shared = build(network, threads=2).compiled()
    assert len(started) == 1
    monkeypatch.setattr(processes, "available_processors", lambda: 1)
    alone = build(network, threads=2).compiled()
    assert len(started) == 1
    assert sorted(shared.objects) == sorted(alone.objects)


def test_callers_that_stop_end_the_processes(started: list[subprocess.Popen[bytes]]) -> None:
    primitives = [primitive(size) for size in range(30, 40)]
    defaults = DefaultSchedules(MACHINE, 2)
    with BuildWorkers(native_target(), defaults) as workers:
        found = planned_ahead(primitives, defaults, workers)
        next(found)
        next(found)
        found.close()
    assert started and all(process.poll() is not None for process in started)


def test_networks_of_many_layers_start_a_worker_before_the_pipeline(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = infer_types(zoo_build("mlp", small=True))
    defaults = DefaultSchedules(MACHINE, 2)
    with BuildWorkers(native_target(), defaults) as workers:
        start_early(workers, network)
        assert not workers.are_started, "two layers are too few"
    monkeypatch.setattr(module, "MANY_LAYERS", 2)
    monkeypatch.setattr(module, "LEAST_WEIGHTS", 1)
    primitives = [primitive(size) for size in range(50, 54)]
    with BuildWorkers(native_target(), defaults) as workers:
        start_early(workers, network)
        assert workers.are_started
        found = list(planned_ahead(primitives, defaults, workers))
    assert len(found) == len(primitives) and len(started) == 1
    assert not all(defaults.are_missing(each.key.digest) for each in primitives)
