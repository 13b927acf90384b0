from __future__ import annotations

import numpy as np

from relay_tune.codegen.target import parse_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.schedule.rewrites.matrix_products.record import BF16X6
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks, network_bytes
from relay_tune.zoo.catalogue import build

PROCESSORS = ("icelake-server", "sapphirerapids")
"""One without matrix registers, one with them."""


def tasks_of(text: str) -> list[Task]:
    return extract_tasks(default_pipeline()(parse(f'#[version = "0.0.5"]\n{text}')))


def test_equal_primitives_are_one_task_with_its_weight() -> None:
    tasks = tasks_of("""
def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32], %v: Tensor[(8, 8), float32]) {
  nn.dense(nn.dense(%x, %w), %v)
}
""")
    assert [task.weight for task in tasks] == [2]
    assert tasks[0].operations == 2 * 8 * 8 * 8
    assert tasks[0].bytes == 3 * 8 * 8 * 4


def test_a_reshape_is_no_task() -> None:
    tasks = tasks_of("""
def @main(%x: Tensor[(4, 6), float32]) {
  nn.softmax(reshape(%x, newshape=(6, 4)))
}
""")
    assert [task.key.title.split()[0] for task in tasks] == ["softmax"]


def test_dynamic_shapes_are_no_tasks() -> None:
    assert tasks_of("def @main(%x: Tensor[(?, 6), float32]) { nn.relu(%x) }") == []


def test_the_most_work_comes_first() -> None:
    tasks = tasks_of("""
def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(64, 8), float32],
          %v: Tensor[(4, 64), float32]) {
  nn.dense(nn.dense(%x, %w), %v)
}
""")
    totals = [task.operations * task.weight for task in tasks]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) == 2


def test_both_branches_of_a_condition_are_tasks() -> None:
    tasks = tasks_of("""
def @main(%c: bool, %x: Tensor[(4, 4), float32]) {
  if (%c) { nn.softmax(%x) } else { nn.relu(%x) }
}
""")
    assert {task.key.title.split()[0] for task in tasks} == {"softmax", "relu"}


def test_networks_touch_what_their_largest_algorithms_touch() -> None:
    tasks = extract_tasks(default_pipeline()(build("vgg16", small=True)))
    plain, tiled = (parse_target(f"x86_64-linux-gnu:{cpu}") for cpu in PROCESSORS)
    written = sum(task.weight * task.bytes for task in tasks)
    assert written < network_bytes(tasks, plain) <= network_bytes(tasks, tiled)


def test_only_what_a_target_can_run_is_planned_for_it() -> None:
    (task,) = extract_tasks(default_pipeline()(layer()))
    plain, tiled = (
        [plan.algorithm for plan in task.plans_for(parse_target(f"x86_64-linux-gnu:{cpu}"))]
        for cpu in PROCESSORS
    )
    assert set(tiled) - set(plain) == {BF16X6()}
    assert set(plain) < set(tiled)


def layer() -> Module:
    text = """
def @main(%x: Tensor[(8, 32), float32], %w: Tensor[(64, 32), float32]) { nn.dense(%x, %w) }
"""
    weights = np.ones((64, 32), "float32")
    return BindParameters({"w": weights})(parse(f'#[version = "0.0.5"]\n{text}'))
