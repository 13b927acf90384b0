"""The kernels of a model at one of the steps on the way from tensors to LLVM IR."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import primitives_of, write_primitive
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.codegen.target import Target
from relay_tune.ir.module import Module
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression_text import tensor_lines
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.typing.infer import infer_types

Describe = Callable[[Primitive, Target, int], str]


def kernels_text(
    module: Module, step: str, target: Target, threads: int, passes: ChosenPasses = STANDARD_PASSES
) -> Iterator[str]:
    """One text for each distinct primitive of a model; `step` is one of STEPS."""
    describe = STEPS[step]
    fused = fused_module(infer_types(module), target=target, passes=passes)
    primitives = primitives_of(kernel_functions(fused))
    distinct = {primitive.key.digest: primitive for primitive in primitives.values()}
    nodes: dict[str, dict[str, None]] = {digest: {} for digest in distinct}
    for function, primitive in primitives.items():
        nodes[primitive.key.digest] |= dict.fromkeys(node_names(function)[:1])
    titles = unique_titles(
        kernel_title(primitive.key.title, list(nodes[digest]))
        for digest, primitive in distinct.items()
    )
    for title, primitive in zip(titles, distinct.values(), strict=True):
        yield f"// {title}\n{describe(primitive, target, threads)}"


def _tensors(primitive: Primitive, target: Target, threads: int) -> str:
    tensors = tensors_in_order(primitive.program.outputs)
    return "\n".join(line for tensor in tensors for line in tensor_lines(tensor))


def _schedules(primitive: Primitive, target: Target, threads: int) -> str:
    plan = plan_program(primitive.program)
    schedule = plan.default_schedule(machine_of(target), threads)
    choices = json.loads(schedule.to_json())["nests"]
    pairs = zip(plan.with_algorithm(schedule.algorithm).nests, choices, strict=True)
    lines = [f"{nest.name}: {json.dumps(choice)}" for nest, choice in pairs]
    return "\n".join([f"algorithm: {schedule.algorithm}", *lines])


def _loops(primitive: Primitive, target: Target, threads: int) -> str:
    kernels = _code(primitive, target, threads).scheduled.kernels
    return "\n".join(kernel_text(kernel) for kernel in kernels)


def _llvm(primitive: Primitive, target: Target, threads: int) -> str:
    return _code(primitive, target, threads).text


def _code(primitive: Primitive, target: Target, threads: int) -> PrimitiveCode:
    return write_primitive(primitive, target, threads, None)


STEPS: dict[str, Describe] = {
    "tensors": _tensors,
    "schedules": _schedules,
    "loops": _loops,
    "llvm": _llvm,
}
