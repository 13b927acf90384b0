"""What has to hold of a program after each pass.

Every variable is bound once and used in its scope, kernels use nothing from outside and have no
effects, the types that a pass has written are those that inference finds, and functions that
callers know keep their types.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

from relay_tune.errors import BuildError, RelayError, Span
from relay_tune.ir.expr import Expr, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import free_vars, post_order
from relay_tune.ir.types import FuncType, Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.effects import touches_cells
from relay_tune.typing.infer import infer_types
from relay_tune.typing.places import describe
from relay_tune.typing.type_text import type_text
from relay_tune.typing.well_formed import check_well_formed


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing that is wrong with a program, and where."""

    message: str
    where: Span | str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """Raises BuildError after a pass that has broken the program, which it writes to files."""

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Raise BuildError with the name of the pass and the first location that is wrong."""
        fault = next(_faults(before, after), None)
        if fault is not None:
            raise broken(name, before, after, fault)


def broken(name: str, before: Module, after: Module, fault: Fault) -> BuildError:
    """The error of a pass that has broken a program; the program is in two files."""
    folder = Path(mkdtemp(prefix="relay_tune_"))
    for when, module in (("before", before), ("after", after)):
        (folder / f"{when}.relay").write_text(module.astext(show_types=True, show_weights=False))
    return BuildError(
        f"Pass {name} has broken the program: {fault.message}",
        where=fault.where,
        notes=(*fault.notes, f"The program is in {folder}: before.relay and after.relay."),
        remedy=f"Leave {name} out of the pipeline, or correct it.",
    )


def _faults(before: Module, after: Module) -> Iterator[Fault]:
    try:
        check_well_formed(after)
        inferred = infer_types(after)
    except RelayError as error:
        yield Fault(error.message, error.where, error.notes)
        return
    yield from _changed_types(before, inferred)
    for name in after.functions:
        yield from _false_types(name, after[name], inferred[name])
        yield from _open_kernels(name, after[name])


def _false_types(name: str, written: Function, inferred: Function) -> Iterator[Fault]:
    """Where a pass has written another type than inference finds."""
    for own, other in zip(post_order(written), post_order(inferred), strict=True):
        if own.type is not None and own.type != other.type:
            yield Fault(
                f"The {describe(own)} is said to have another type than it has.",
                _where(name, own),
                (f"written: {_text(own.type)}", f"inferred: {_text(other.type)}"),
            )


def _open_kernels(name: str, function: Function) -> Iterator[Fault]:
    """Kernels that use a variable from outside, or have an effect."""
    for kernel in post_order(function, enter=lambda node: not is_opaque_function(node)):
        if not isinstance(kernel, Function) or not kernel.is_primitive:
            continue
        for var in free_vars(kernel):
            yield Fault(
                f"A kernel uses %{var.name}, which is no parameter of it.", _where(name, kernel)
            )
        for node in post_order(kernel.body):
            if touches_cells(node) or isinstance(node, GlobalVar):
                yield Fault(f"A kernel has a {describe(node)}.", _where(name, node))


def _changed_types(before: Module, inferred: Module) -> Iterator[Fault]:
    """Functions that callers know and that have another type, or are gone."""
    old = infer_types(before)
    for name in ("main",) if "main" in old.functions else tuple(old.functions):
        if name not in inferred.functions:
            yield Fault(f"The function @{name} is gone.", None)
            continue
        expected, found = old[name].type, inferred[name].type
        if not _same_signature(expected, found):
            yield Fault(
                f"The type of @{name} is another one.",
                _where(name, inferred[name]),
                (f"before: {_text(expected)}", f"after: {_text(found)}"),
            )


def _where(function: str, node: Expr) -> Span | str:
    return f"{describe(node)} in @{function}" if node.span is None else node.span


def _same_signature(first: Type | None, second: Type | None) -> bool:
    if isinstance(first, FuncType) and isinstance(second, FuncType) and first.type_params:
        return len(first.type_params) == len(second.type_params)
    return first == second


def _text(type_: Type | None) -> str:
    return "unknown" if type_ is None else type_text(type_)
