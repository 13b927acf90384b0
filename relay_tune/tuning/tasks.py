"""What there is to tune in a model: one task for each distinct primitive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relay_tune.building.work import plan_bytes, plan_operations
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError
from relay_tune.first_order.primitive_calls import is_scalar_arithmetic
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op.lower import lower_function
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key
from relay_tune.op.primitive_views import computes_nothing
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, plan_program


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """One primitive to tune.

    Attributes:
        key: what makes it the same as that of another model.
        function: the typed primitive function; the first of those with this key.
        plan: its nests, before any choice.
        nodes: the main node of each place where the model runs it, by name, each once.
        title: the task in words, with the first of its nodes; that of no other task of the model.
        weight: how often the model runs it.
        operations: arithmetic operations of one run, as the program is written.
        bytes: what one run reads and writes at least once, as the program is written.
    """

    key: PrimitiveKey
    function: Function
    plan: Plan
    weight: int
    operations: int
    bytes: int
    nodes: tuple[str, ...] = ()
    title: str = ""

    def plans_for(self, target: Target) -> Sequence[Plan]:
        """The plans under all algorithms that a target can run."""
        known = self.plan.algorithms_on(target.machine)
        return [self.plan.with_algorithm(each) for each in known]


def network_bytes(tasks: Sequence[Task], target: Target) -> int:
    """What one run of a whole network touches, with the algorithms that touch most."""
    return sum(
        task.weight * max(plan_bytes(plan) for plan in task.plans_for(target)) for task in tasks
    )


def extract_tasks(module: Module, accuracy: Accuracy = Accuracy.FAST) -> list[Task]:
    """The tasks of a fused module, the ones with most arithmetic in the whole model first.

    Their schedules are those of an accuracy.
    Primitives that only reshape, those of scalars alone, and those without a static tensor
    computation are no tasks.
    """
    nodes: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    first: dict[str, tuple[PrimitiveKey, Function]] = {}
    for function in _primitive_calls(module):
        key = primitive_key(function)
        counts[key.digest] += 1
        first.setdefault(key.digest, (key, function))
        nodes.setdefault(key.digest, []).extend(node_names(function)[:1])
    found = [
        _task(key, function, counts[digest], accuracy) for digest, (key, function) in first.items()
    ]
    tasks = sorted(
        (task for task in found if task is not None),
        key=lambda task: (-task.operations * task.weight, task.key.digest),
    )
    named = [tuple(dict.fromkeys(nodes[task.key.digest])) for task in tasks]
    titles = unique_titles(
        kernel_title(task.key.title, names) for task, names in zip(tasks, named, strict=True)
    )
    return [
        replace(task, nodes=names, title=title)
        for task, names, title in zip(tasks, named, titles, strict=True)
    ]


def _primitive_calls(module: Module) -> Iterator[Function]:
    """The primitive function of each call, in order of evaluation."""
    for name in sorted(module.functions):
        for node in post_order(module.functions[name], enter=_is_entered):
            match node:
                case Call(callee=Function() as function) if function.is_primitive:
                    if not computes_nothing(function) and not is_scalar_arithmetic(function):
                        yield function


def _is_entered(node: Expr) -> bool:
    return not (isinstance(node, Function) and node.is_primitive)


def _task(key: PrimitiveKey, function: Function, weight: int, accuracy: Accuracy) -> Task | None:
    """The task of a primitive, or None where it has no schedule."""
    try:
        plan = plan_program(lower_function(function)).with_accuracy(accuracy)
    except BuildError:
        return None  # dynamic shapes: built and run without schedules
    if not plan.nests:
        return None
    return Task(key, function, plan, weight, plan_operations(plan), plan_bytes(plan))
