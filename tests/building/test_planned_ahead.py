"""Primitives whose schedules other processes choose."""

from collections.abc import Iterator

import pytest

from relay_tune.building import planned_ahead as module
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.planned_ahead import early_workers, planned_ahead
from relay_tune.building.primitive import Primitive
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
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
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Workers start at once, on two processors; the modules that are started."""
    modules: list[str] = []
    start = module.start_worker

    def counted(name: str, arguments: list[str]) -> object:
        modules.append(name)
        return start(name, arguments)

    monkeypatch.setattr(module, "STARTING_SECONDS", -1.0)
    monkeypatch.setattr(module, "available_processors", lambda: 2)
    monkeypatch.setattr(module, "start_worker", counted)
    yield modules


def test_schedules_are_those_that_this_process_chooses(started: list[str]) -> None:
    primitives = [primitive(size) for size in range(3, 9)]
    defaults = DefaultSchedules(MACHINE, 2)
    found = list(planned_ahead(primitives, defaults))
    assert sorted(p.key.digest for p in found) == sorted(p.key.digest for p in primitives)
    assert started == ["relay_tune.building.schedule_worker"]
    known = [p for p in primitives if not defaults.are_missing(p.key.digest)]
    assert known, "the worker has chosen none"
    for each in primitives:
        plan = plan_program(each.program)
        expected = plan_program(each.program).default_schedule(MACHINE, 2)
        assert defaults.of(each.key.digest, plan).to_json() == expected.to_json()


def test_what_a_log_knows_is_left_to_the_caller(started: list[str]) -> None:
    primitives = [primitive(size) for size in range(10, 14)]
    defaults = DefaultSchedules(MACHINE, 2, is_needed=lambda digest: False)
    assert list(planned_ahead(primitives, defaults)) == primitives
    assert not started


def test_few_primitives_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "start_worker", None)
    primitives = [primitive(size) for size in range(20, 24)]
    assert list(planned_ahead(primitives, DefaultSchedules(MACHINE, 2))) == primitives


def test_callers_that_stop_end_the_processes(started: list[str]) -> None:
    primitives = [primitive(size) for size in range(30, 40)]
    ordered = planned_ahead(primitives, DefaultSchedules(MACHINE, 2))
    next(ordered)
    next(ordered)
    ordered.close()


def test_networks_of_many_layers_start_a_worker_before_the_pipeline(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = infer_types(zoo_build("mlp", small=True))
    defaults = DefaultSchedules(MACHINE, 2)
    with early_workers(network, defaults) as pool:
        assert pool is None, "two layers are too few"
    monkeypatch.setattr(module, "MANY_LAYERS", 2)
    monkeypatch.setattr(module, "LEAST_WEIGHTS", 1)
    primitives = [primitive(size) for size in range(50, 54)]
    with early_workers(network, defaults) as pool:
        assert pool is not None
        found = list(planned_ahead(primitives, defaults, pool))
    assert len(found) == len(primitives) and len(started) == 1
    assert not all(defaults.are_missing(each.key.digest) for each in primitives)
