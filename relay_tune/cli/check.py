"""Say whether a model is supported: all operators that are missing, or what it consists of."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from relay_tune.cli.model_file import load_model
from relay_tune.cli.native_form import kernel_count
from relay_tune.cli.options import add_json, add_model, shapes_of
from relay_tune.errors import BuildError, ModelError, TypeInferenceError, UnsupportedOperatorError
from relay_tune.ir.expr import Call
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text

EXAMPLE = "tune check model.onnx"


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found out about a model; `problem` is empty where it is supported.

    `details` are the lines below the problem, such as one for each missing operator; `kernels` is
    None where they depend on shapes that only a call fixes.
    """

    model: str
    problem: str = ""
    details: tuple[str, ...] = ()
    inputs: Mapping[str, str] | None = None
    operators: Mapping[str, int] | None = None
    kernels: int | None = None

    @property
    def supported(self) -> bool:
        """Whether the model can be built."""
        return not self.problem


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 where the model is not supported."""
    findings = examine(arguments.model, shapes_of(arguments))
    if arguments.json:
        print(json.dumps({"supported": findings.supported, **asdict(findings)}, indent=2))
    else:
        print(_text(findings))
    return 0 if findings.supported else 1


def examine(model: str, shapes: Mapping[str, tuple[int, ...]]) -> Findings:
    """Import, type, and fuse a model; raises InputError where there is no such model."""
    try:
        module = infer_types(load_model(model, shapes))
        kernels = kernel_count(module)
    except (BuildError, ModelError, TypeInferenceError, UnsupportedOperatorError) as error:
        place = f"{error.where}: " if error.where else ""
        remedy = (error.remedy,) if error.remedy else ()
        return Findings(model, f"{place}{error.message}", (*error.notes, *remedy))
    return Findings(
        model, inputs=_inputs(module), operators=_operator_counts(module), kernels=kernels
    )


def _inputs(module: Module) -> dict[str, str]:
    return {var.name: type_text(var.type) for var in module.main.params if var.type is not None}


def _operator_counts(module: Module) -> dict[str, int]:
    nodes = post_order(*module.functions.values())
    calls = (node.callee for node in nodes if isinstance(node, Call))
    counts = Counter(callee.name for callee in calls if isinstance(callee, Operator))
    return dict(sorted(counts.items()))


def _text(findings: Findings) -> str:
    if not findings.supported:
        lines = [f"{findings.model} is not supported: {findings.problem}"]
        return "\n".join([*lines, *(f"  {detail}" for detail in findings.details)])
    open_shapes = "its kernels depend on the shapes of a call"
    kernels = f"{findings.kernels} kernels" if findings.kernels is not None else open_shapes
    lines = [f"{findings.model} is supported: {kernels}"]
    lines += [f"  input {name}: {text}" for name, text in (findings.inputs or {}).items()]
    lines += [f"  {count:>5} x {name}" for name, count in (findings.operators or {}).items()]
    return "\n".join(lines)
