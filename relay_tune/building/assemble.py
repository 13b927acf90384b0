"""Putting a network together: memory, constants, and one call for each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.memory_limit import check_total
from relay_tune.building.network import Network
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.building.region_layout import RegionLayout
from relay_tune.codegen.compiled_program import MAIN_SYMBOL, CompiledProgram
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.index_checks import ProgramCheck, status_text
from relay_tune.codegen.main_function import KernelCall, main_text
from relay_tune.codegen.processor_features import required_features
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import primitive_title


def assemble(
    network: Network,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
    objects: Sequence[bytes],
    target: Target,
    threads: int,
) -> CompiledProgram:
    """The compiled program of a network whose primitives are compiled."""
    region = network.region
    read = [buffer for check in network.checks for buffer in check.read]
    layout = RegionLayout(region, primitives, codes, ConstantBlock(), read)
    steps = _with_unique_titles(
        _program_step(run.function, code, layout.calls(number))
        for number, (run, code) in enumerate(zip(region.runs, layout.codes, strict=True))
    )
    calls = [call for step in steps for call in step.calls]
    check_total(layout.constants.size + layout.workspace_bytes, region)
    texts = [main_text(MAIN_SYMBOL, calls, target.triple)]
    checks = tuple(
        ProgramCheck(
            layout.place(check.extent),
            tuple(s if isinstance(s, int) else layout.place(s) for s in check.sizes),
            check.message,
        )
        for check in network.checks
    )
    if checks:
        texts.append(status_text(checks, target.triple))
    return CompiledProgram(
        target=target,
        features=required_features(target, (code.text for code in codes.values())),
        threads=threads,
        inputs=dict(network.inputs),
        outputs=dict(network.outputs),
        objects=(*objects, *(compile_text(text, target) for text in texts)),
        constants=layout.constants,
        workspace_bytes=layout.workspace_bytes,
        steps=tuple(steps),
        checks=checks,
    )


def _program_step(
    function: Function, code: PrimitiveCode, calls: tuple[KernelCall, ...]
) -> ProgramStep:
    nodes = node_names(function)
    title = kernel_title(primitive_title(function), nodes[:1])
    return ProgramStep(title, code.key.digest, calls, code.work, nodes)


def _with_unique_titles(steps: Iterable[ProgramStep]) -> list[ProgramStep]:
    given = list(steps)
    titles = unique_titles(step.title for step in given)
    return [replace(step, title=title) for step, title in zip(given, titles, strict=True)]
