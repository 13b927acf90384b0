"""The program of a task in the description that the log keeps."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.program_form import fused_module
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.op.lower import lower_function
from relay_tune.schedule.plan import plan_program
from relay_tune.tuning.logged_programs import logged_function, program_fields
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.typing.infer import infer_types
from relay_tune.zoo.catalogue import build
from tests.schedule.machines import SERVER


@pytest.fixture(scope="module", params=["squeezenet1_1", "lstm", "bert_base"])
def tasks(request: pytest.FixtureRequest) -> list[Task]:
    return extract_tasks(fused_module(infer_types(build(request.param, small=True))))


def test_programs_come_back_without_their_weights(tasks: list[Task]) -> None:
    assert tasks
    for task in tasks:
        function = logged_function(program_fields(task.function), task.key.digest)
        assert function is not None, task.title
        weights = [node for node in post_order(function.body) if isinstance(node, Constant)]
        assert not any(np.any(node.data) for node in weights if node.data.ndim)


def test_they_get_the_same_default_schedule(tasks: list[Task]) -> None:
    task = tasks[0]
    function = logged_function(program_fields(task.function), task.key.digest)
    assert function is not None
    plan = plan_program(lower_function(function)).with_accuracy(task.plan.accuracy)
    found = plan.default_schedule(SERVER, 1)
    assert found.to_json() == task.plan.default_schedule(SERVER, 1).to_json()


def test_another_program_is_refused(tasks: list[Task]) -> None:
    fields = program_fields(tasks[0].function)
    assert logged_function(fields, "0" * 24) is None
    assert logged_function({**fields, "program": "def @main("}, tasks[0].key.digest) is None
    assert logged_function({**fields, "weights": None}, tasks[0].key.digest) is None
    assert logged_function({}, tasks[0].key.digest) is None
