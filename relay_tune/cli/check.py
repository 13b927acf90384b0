"""The verb `check`: what was found out about a model."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace

from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.building.program_form import has_open_inputs
from relay_tune.cli.model_file import load_model, onnx_graph
from relay_tune.cli.native_form import kernel_count, refusal
from relay_tune.cli.options import constants_of, shapes_of
from relay_tune.cli.working_options import ModelOptions, command_line, working_options
from relay_tune.errors import (
    BuildError,
    ModelError,
    Refusal,
    RelayError,
    TypeInferenceError,
    UnsupportedOperatorError,
)
from relay_tune.frontend.onnx_import.dynamic_inputs import declared_inputs
from relay_tune.ir.expr import Call
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.describe import counted
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings about a model; `problem` is empty where it is supported.

    `details` are the lines below the problem, and `missing` lists all of an ONNX file that
    cannot be imported. `kernels` is None where they depend on shapes that only a call fixes.
    `each_size` says why code is made anew for each size of the inputs, where there is none for all.
    `dynamic_inputs` are those whose sizes the file leaves open, and `command` is a line with sizes
    and values that work.
    """

    model: str
    problem: str = ""
    details: tuple[str, ...] = ()
    missing: tuple[Refusal, ...] = ()
    inputs: Mapping[str, str] | None = None
    operators: Mapping[str, int] | None = None
    kernels: int | None = None
    each_size: tuple[str, ...] = ()
    dynamic_inputs: tuple[str, ...] = ()
    command: str = ""

    @property
    def supported(self) -> bool:
        """Whether the model can be built."""
        return not self.problem


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 where the model is not supported."""
    given = ModelOptions(shapes_of(arguments), constants_of(arguments))
    passes = ChosenPasses(arguments.passes, arguments.verify)
    findings = with_command(examine(arguments.model, given, passes), given, passes)
    if arguments.json:
        print(json.dumps({"supported": findings.supported, **asdict(findings)}, indent=2))
    else:
        print(_text(findings))
    return 0 if findings.supported else 1


def examine(model: str, options: ModelOptions, passes: ChosenPasses = STANDARD_PASSES) -> Findings:
    """Import, type, and fuse a model; raises InputError where there is no such model."""
    try:
        module = infer_types(load_model(model, options.shapes, options.constants))
        kernels = kernel_count(module, passes)
        missing = refusal(module, passes)
        if missing is not None and not has_open_inputs(module):
            raise missing
    except (BuildError, ModelError, TypeInferenceError, UnsupportedOperatorError) as error:
        remedy = (error.remedy,) if error.remedy else ()
        return Findings(model, _located(error), (*error.notes, *remedy), error.refusals)
    return Findings(
        model,
        inputs=_inputs(module),
        operators=_operator_counts(module),
        kernels=kernels,
        each_size=() if missing is None else (_located(missing), *missing.notes),
    )


def _located(error: RelayError) -> str:
    return f"{error.where}: {error.message}" if error.where else error.message


def with_command(
    findings: Findings, given: ModelOptions, passes: ChosenPasses = STANDARD_PASSES
) -> Findings:
    """Findings with the dynamic inputs of an ONNX file, and options that make it work."""
    graph = onnx_graph(findings.model)
    if graph is None:
        return findings
    inputs = declared_inputs(graph)
    known = {*given.shapes, *given.constants}
    dynamic = tuple(str(each) for each in inputs.dynamic if each.name not in known)
    if findings.supported and not dynamic:
        return findings
    options = working_options(
        inputs, given, lambda found: examine(findings.model, found, passes).supported
    )
    line = "" if options is None else command_line(findings.model, options)
    return replace(findings, dynamic_inputs=dynamic, command=line)


def _inputs(module: Module) -> dict[str, str]:
    return {var.name: type_text(var.type) for var in module.main.params if var.type is not None}


def _operator_counts(module: Module) -> dict[str, int]:
    nodes = post_order(*module.functions.values())
    calls = (node.callee for node in nodes if isinstance(node, Call))
    counts = Counter(callee.name for callee in calls if isinstance(callee, Operator))
    return dict(sorted(counts.items()))


def _text(findings: Findings) -> str:
    return "\n".join([*_dynamic_lines(findings), *_lines(findings), *_command_lines(findings)])


def _dynamic_lines(findings: Findings) -> list[str]:
    if not findings.dynamic_inputs:
        return []
    lines = [f"{findings.model} has inputs of dynamic size:"]
    return [*lines, *(f"  {text}" for text in findings.dynamic_inputs)]


def _command_lines(findings: Findings) -> list[str]:
    if not findings.command:
        return []
    what = "this works, for example"
    if findings.supported:
        what = "kernels are tuned for the sizes that are named"
        what += "" if findings.each_size else ", ranges such as 1..64 as well"
    return [f"{what}:", f"  {findings.command}"]


def _lines(findings: Findings) -> list[str]:
    if not findings.supported:
        lines = [f"{findings.model} is not supported: {findings.problem}"]
        return [*lines, *(f"  {detail}" for detail in findings.details)]
    kernels = "for any size" if findings.kernels is None else counted(findings.kernels, "kernel")
    if findings.each_size:
        kernels = "with code that is made for each size when it comes, not for all"
    lines = [f"{findings.model} is supported: {kernels}"]
    lines += [f"  {line}" for line in findings.each_size]
    lines += [f"  input {name}: {text}" for name, text in (findings.inputs or {}).items()]
    lines += [f"  {count:>5} x {name}" for name, count in (findings.operators or {}).items()]
    return lines
