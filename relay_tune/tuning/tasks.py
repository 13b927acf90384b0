"""Tuning tasks of a model: one for each distinct primitive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import primitives_of
from relay_tune.building.size_points import SizePoint, local_sizes
from relay_tune.building.work import plan_bytes, plan_operations
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, InputError, NoNativeCodeError
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op.lower import lower_function
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key
from relay_tune.op.primitive_views import computes_nothing
from relay_tune.program.open_primitive import is_open_primitive, with_sizes
from relay_tune.program.open_programs import example_sizes
from relay_tune.program.primitive_calls import is_scalar_arithmetic
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """One primitive to tune.

    Attributes:
        key: what makes it the same as that of another model.
        function: the typed primitive function; the first of those with this key.
        plan: its nests, before any choice.
        nodes: the main node of each call in the model, by name, each once.
        title: the task in words, with the first of its nodes; that of no other task of the model.
        weight: how often the model runs it.
        operations: arithmetic operations of one run, as the program is written.
        bytes: what one run reads and writes at least once, as the program is written.
        sizes: the dynamic sizes for which it is tuned, by the names in its plan; `function` is for
            these sizes alone.
    """

    key: PrimitiveKey
    function: Function
    plan: Plan
    weight: int
    operations: int
    bytes: int
    nodes: tuple[str, ...] = ()
    title: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def plans_for(self, target: Target) -> Sequence[Plan]:
        """The plans under all algorithms that a target can run."""
        known = self.plan.algorithms_on(target.machine)
        return [self.plan.with_algorithm(each) for each in known]


def network_bytes(tasks: Sequence[Task], target: Target) -> int:
    """Bytes that a run of a whole network touches, with the algorithms that touch most."""
    return sum(
        task.weight * max(plan_bytes(plan) for plan in task.plans_for(target)) for task in tasks
    )


def extract_tasks(
    module: Module, accuracy: Accuracy = Accuracy.FAST, points: Sequence[SizePoint] = ()
) -> list[Task]:
    """The tasks of a fused module, the ones with most arithmetic in the whole model first.

    Their schedules are those of an accuracy. A primitive of dynamic sizes has a task for each of
    `points` whose code is another one. Primitives that only reshape, those of scalars alone, and
    those without a static tensor computation are no tasks.

    Raises InputError where there are points, and a primitive has no code for all sizes.
    """
    nodes: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    first: dict[str, _Kernel] = {}
    kernels: dict[Function, list[_Kernel]] = {}
    for function in _primitive_calls(module):
        if function not in kernels:
            kernels[function] = list(_kernels(function, points))
        for kernel in kernels[function]:
            digest = kernel.key.digest
            counts[digest] += 1
            first.setdefault(digest, kernel)
            nodes.setdefault(digest, []).extend(node_names(function)[:1])
    found = [_task(kernel, counts[digest], accuracy) for digest, kernel in first.items()]
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


@dataclass(frozen=True, eq=False, slots=True)
class _Kernel:
    """A primitive function of fixed sizes; `open` is the one for all sizes that runs there."""

    key: PrimitiveKey
    function: Function
    open: Primitive | None = None

    @property
    def program(self) -> TensorProgram:
        """The program to schedule."""
        return lower_function(self.function) if self.open is None else self.open.program

    @property
    def sizes(self) -> dict[str, int]:
        """The dynamic sizes of the example."""
        if self.open is None or self.open.open is None:
            return {}
        sizes = example_sizes(self.open.open, self.open.example)
        return {name: nominal(size) for name, size in sizes.items()}


def _kernels(function: Function, points: Sequence[SizePoint]) -> Iterator[_Kernel]:
    """Programs that run for a primitive function at each of some points, each once."""
    if not is_open_primitive(function):
        yield _Kernel(primitive_key(function), function)
        return
    if not points:
        return
    try:
        (primitive,) = primitives_of([function], points=points).values()
    except NoNativeCodeError as error:
        raise InputError(
            f"Kernels cannot be tuned between sizes: {error.message}",
            notes=error.notes,
            where=error.where,
            remedy="Name one size for each input, such as --shape x=1,3,224,224, or let the model "
            "run untuned.",
        ) from error
    named = primitive.open
    if named is None or named.found:
        return
    found = (local_sizes(function, named, point) for point in points)
    parts = dict.fromkeys(primitive.at(sizes) for sizes in found if sizes is not None)
    for part in parts:
        if part.open is None:
            yield _Kernel(part.key, part.function)
            continue
        sizes = example_sizes(part.open, part.example)
        fixed = with_sizes(part.open, {name: nominal(size) for name, size in sizes.items()})
        yield _Kernel(part.key, fixed, part)


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


def _task(kernel: _Kernel, weight: int, accuracy: Accuracy) -> Task | None:
    """The task of a primitive, or None where it has no schedule."""
    try:
        plan = plan_program(kernel.program).with_accuracy(accuracy)
    except BuildError:
        return None  # sizes that no code can be chosen for
    if not plan.nests:
        return None
    operations, size = plan_operations(plan), plan_bytes(plan)
    return Task(kernel.key, kernel.function, plan, weight, operations, size, sizes=kernel.sizes)
