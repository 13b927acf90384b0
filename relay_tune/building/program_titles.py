"""What the kernels of a program compute, with titles for people: in profiles and timelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.codegen.programs.compiled import (
    CompiledRegion,
    KernelFunction,
    ProgramPrimitive,
)
from relay_tune.codegen.programs.kernel_step import RegionStep
from relay_tune.first_order.region import KernelRun, Region
from relay_tune.ir.expr import Function
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import primitive_key, primitive_title


@dataclass(frozen=True, slots=True)
class TitledKernels:
    """The kernels that run by themselves, and those of regions; no two have the same title."""

    primitives: tuple[ProgramPrimitive, ...]
    regions: tuple[CompiledRegion, ...]


def titled_kernels(
    lone: Mapping[Function, Primitive],
    regions: Mapping[Region, RegionStep],
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
) -> TitledKernels:
    """The kernels of a program: of functions that run by themselves, and of its regions."""
    alone = _program_primitives(lone, codes)
    compiled = [
        CompiledRegion(step.job, tuple(_steps(region, step, primitives, codes)))
        for region, step in regions.items()
    ]
    steps = [step for region in compiled for step in region.steps]
    given = [*(each.title for each in alone), *(each.title for each in steps)]
    titles = iter(unique_titles(given))
    return TitledKernels(
        tuple(replace(each, title=next(titles)) for each in alone),
        tuple(
            replace(region, steps=tuple(replace(step, title=next(titles)) for step in region.steps))
            for region in compiled
        ),
    )


def _steps(
    region: Region,
    step: RegionStep,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
) -> Iterator[ProgramStep]:
    """The steps of a region; several may have one title."""
    for run, calls in zip(region.runs, step.calls, strict=True):
        code = codes[primitives[run.function].key.digest]
        title, nodes = _title_and_nodes(run)
        yield ProgramStep(title, code.key.digest, calls, code.work, nodes)


def _title_and_nodes(run: KernelRun) -> tuple[str, tuple[str, ...]]:
    nodes = node_names(run.function)
    return kernel_title(primitive_title(run.function), nodes[:1]), nodes


def _program_primitives(
    primitives: Mapping[Function, Primitive], codes: Mapping[str, PrimitiveCode]
) -> list[ProgramPrimitive]:
    """What kernels compute, with the names of the user's nodes; several may have one title."""
    nodes: dict[str, dict[str, None]] = {}
    main_nodes: dict[str, dict[str, None]] = {}
    parts: dict[str, Primitive] = {}
    titles: dict[str, str] = {}
    for function, primitive in primitives.items():
        names = node_names(function)
        for part in primitive.with_parts():
            digest = part.key.digest
            parts.setdefault(digest, part)
            titles.setdefault(digest, _title(part, function))
            nodes.setdefault(digest, {}).update(dict.fromkeys(names))
            main_nodes.setdefault(digest, {}).update(dict.fromkeys(names[:1]))
    return [
        ProgramPrimitive(
            kernel_title(titles[digest], list(main_nodes[digest])),
            digest,
            tuple(
                KernelFunction(kernel.name, len(kernel.arguments), len(kernel.sizes))
                for kernel in codes[digest].scheduled.kernels
            ),
            codes[digest].work if part.open is None else None,
            tuple(nodes[digest]),
        )
        for digest, part in parts.items()
    ]


def _title(part: Primitive, function: Function) -> str:
    """What a part of the primitive of a function computes, in the names of the function."""
    is_general = part.open is not None and part.key == primitive_key(part.function)
    return primitive_title(function) if is_general else part.key.title
