"""Reverse mode of branches and clauses, tested once more or told by a tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Expr, If, Match, Pattern, Var
from relay_tune.ir.traversal import map_pattern_vars
from relay_tune.ir.types import TupleType
from relay_tune.transform.gradient.block_code import BlockCode, told_adjoint
from relay_tune.transform.gradient.choices import Arm, Choice
from relay_tune.transform.gradient.patterns import pattern_adjoint, with_names
from relay_tune.transform.gradient.swept import substituted
from relay_tune.transform.gradient.typed_nodes import (
    constructed,
    field_of,
    fields_pattern,
    let_block,
    matched,
    packed,
    renamed,
    tuple_of,
    type_of,
    unpacked,
    variable,
)


def arms_of(block: BlockCode, node: If | Match) -> list[tuple[Pattern | None, Expr]]:
    """The branches of an if, or the clauses of a match, whose adjoints have names."""
    if isinstance(node, If):
        return [(None, node.true_branch), (None, node.false_branch)]
    types = block.of.types
    active = block.of.activity.is_active(node.value)
    return [
        (
            with_names(types, clause.pattern, type_of(node.value)) if active else clause.pattern,
            clause.body,
        )
        for clause in node.clauses
    ]


def sweep_choice(block: BlockCode, var: Var, node: If | Match, arms: Sequence[Arm]) -> None:
    """The forward and backward code of a choice whose arms were swept."""
    whole = Choice(node, tuple(arms), returned_by(node, arms))
    codes = [_backward_code(block, whole, arm) for arm in arms]
    saved = [arm.saved(code) for arm, code in zip(arms, codes, strict=True)]
    if all(set(each) <= arm.pattern_variables for each, arm in zip(saved, arms, strict=True)):
        _choose_again(block, var, whole, codes, saved)
    else:
        _choose_by_tape(block, var, whole, codes, saved)


def returned_by(node: If | Match, arms: Sequence[Arm]) -> tuple[Var, ...]:
    """The variables whose adjoints the backward code of some arm finds."""
    found: dict[Var, None] = {}
    for arm in arms:
        inside = arm.pattern_variables
        if any(var in inside for var in arm.swept.adjoints) and isinstance(node, Match):
            assert isinstance(node.value, Var)
            found[node.value] = None
        found.update((var, None) for var in arm.swept.adjoints if var not in inside)
    return tuple(found)


def _backward_code(block: BlockCode, whole: Choice, arm: Arm) -> Expr:
    """The adjoints that an arm finds, zeros for others."""
    adjoints = dict(arm.swept.adjoints)
    node = whole.node
    if arm.pattern is not None and isinstance(node, Match) and isinstance(node.value, Var):
        matched_adjoint = pattern_adjoint(
            block.of.types, block.of.values, arm.pattern, type_of(node.value), adjoints
        )
        name, type_ = f"d_{node.value.name}", block.of.types.field_adjoint(type_of(node.value))
        told = told_adjoint(name, matched_adjoint, type_, arm.swept.backward)
        adjoints[node.value] = block.of.values.total(adjoints.get(node.value), told)
    values = [block.of.values.value(adjoints.get(var), var) for var in whole.returned]
    return let_block(arm.swept.backward, packed(values) if values else tuple_of(()))


def _choose_again(
    block: BlockCode, var: Var, whole: Choice, codes: list[Expr], saved: list[list[Var]]
) -> None:
    """Backward code that tests the condition, or matches the value, once more."""
    block.forward.append((var, whole.rebuilt([arm.swept.block() for arm in whole.arms])))
    again = []
    for arm, code, variables in zip(whole.arms, codes, saved, strict=True):
        new = {each: renamed(each) for each in variables}
        pattern = None if arm.pattern is None else _again(arm.pattern, new)
        again.append((pattern, substituted(code, dict(new.items()))))
    _return(block, whole, whole.chosen(again))


def _choose_by_tape(
    block: BlockCode, var: Var, whole: Choice, codes: list[Expr], saved: list[list[Var]]
) -> None:
    """Backward code that matches on a tape, which the forward code makes."""
    constructors = block.of.tapes.branches(
        block.title, whole.titles(), [[type_of(each) for each in part] for part in saved]
    )
    type_ = constructors[0].belongs_to
    results = [
        arm.swept.block(tuple_of((arm.swept.result, constructed(made, part, type_))))
        for arm, made, part in zip(whole.arms, constructors, saved, strict=True)
    ]
    run = variable(f"{var.name}_run", TupleType((type_of(var), type_)))
    tape = variable(f"{var.name}_tape", type_)
    block.forward += [(tape, field_of(run, 1)), (var, field_of(run, 0))]
    block.forward.append((run, whole.rebuilt(results)))
    clauses = []
    for made, code, variables in zip(constructors, codes, saved, strict=True):
        new = {each: renamed(each) for each in variables}
        pattern = fields_pattern(made, tuple(new.values()))
        clauses.append((pattern, substituted(code, dict(new.items()))))
    _return(block, whole, matched(tape, clauses))


def _return(block: BlockCode, whole: Choice, code: Expr) -> None:
    """Bind what the backward code of the arms returns."""
    returned = whole.returned
    name = f"d_{returned[0].name}" if len(returned) == 1 else "d"
    bound = block.bound(name, code)
    for var, part in zip(returned, unpacked(bound, len(returned)), strict=False):
        block.contribute(var, part)


def _again(pattern: Pattern, new: Mapping[Var, Var]) -> Pattern:
    """A pattern that binds other variables; those that are not used have new names only."""
    return map_pattern_vars(pattern, lambda var: new[var] if var in new else renamed(var))
