from __future__ import annotations

from relay_tune.frontend.relay_text import parse
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.zoo.catalogue import build


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


def test_each_algorithm_has_its_own_work() -> None:
    module = build("vgg16", small=True)
    several = [task for task in extract_tasks(default_pipeline()(module)) if len(task.works) > 1]
    assert several
    for task in several:
        direct, *others = zip(task.plan.algorithms, task.works, strict=True)
        assert direct == ("direct", (task.operations, task.bytes))
        filtered = [work for name, work in others if name.startswith("winograd")]
        assert all(work[0] != task.operations and work[1] > task.bytes for work in filtered)
        assert all(work == direct[1] for name, work in others if name.startswith("rows"))
