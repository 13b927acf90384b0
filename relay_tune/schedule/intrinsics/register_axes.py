"""Nests with the axes that registers of their pattern can have."""

from __future__ import annotations

from dataclasses import replace

from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.intrinsics.pattern_products import axis_between, form_of, products_of
from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.tensor.expression import Axis, Binary, Literal, Scalar, binary
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.tensor.walk import sub_expressions, substitute

FEW_ROWS = 13 / 16
"""Where a smaller part of a register's rows is used, those of several lines are taken together."""


def for_registers(nest: Nest) -> Nest:
    """The nest with axes that registers of its pattern can have, if it has one."""
    return nest if nest.pattern is None else with_long_rows(with_register_steps(nest))


def with_register_steps(nest: Nest) -> Nest:
    """The nest with the steps that a register holds on an axis of their own.

    before:  reduction (k[36], g[4])
    after:   (ko[3], ki[12], g[4])
    """
    pattern, known = nest.pattern, products_of(nest)
    if pattern is None or not known or pattern.right_rows == 1:
        return nest
    left, right = map(form_of, known[0])
    size, line = pattern.group, pattern.columns * pattern.group
    steps = axis_between(nest.reduction, None, left, size, right, line)
    if steps is None or (not is_symbolic(steps.extent) and steps.extent <= pattern.right_rows):
        return nest
    most = next(n for n in range(pattern.right_rows, 0, -1) if steps.extent % n == 0)
    if most == 1:
        return nest
    outer = Axis(f"{steps.name[:10]}o", steps.extent // most)
    inner = Axis(f"{steps.name[:10]}i", most)
    position = nest.reduction.index(steps)
    reduction = (*nest.reduction[:position], outer, inner, *nest.reduction[position + 1 :])
    parts: dict[Axis, Scalar] = {steps: outer * most + inner}
    roots = [simplify(root, parts) for root in nest.roots]
    return with_roots(nest, roots, nest.axes, reduction)


def with_whole_columns(nest: Nest) -> Nest:
    """The nest with an open number of columns in registers, the last of which may have fewer.

    before:  axes (m, j[n]): right[j // 16 * 512 + j % 16 * 2 + ..], stored at m * n + j
    after:   axes (m, b[(n + 15) // 16], j[16]): right[b * 512 + j * 2 + ..], stored at
             m * n + b * 16 + j where b * 16 + j < n
    """
    if nest.pattern is None or nest.body is None:
        return nest
    width = nest.pattern.columns
    column = next((a for a in nest.axes if is_symbolic(a.extent) and _is_cut(nest, a, width)), None)
    if column is None:
        return nest
    block = Axis(f"{column.name[:10]}b", ceiling_quotient(column.extent, width))
    inside = Axis(column.name, width)
    position = nest.axes.index(column)
    parts: dict[Axis, Scalar] = {column: block * width + inside}
    roots = [simplify(root, parts) for root in nest.roots]
    axes = (*nest.axes[:position], block, inside, *nest.axes[position + 1 :])
    whole = with_roots(nest, roots, axes, nest.reduction)
    return replace(whole, inside=binary("lt", parts[column], column.extent))


def _is_cut(nest: Nest, axis: Axis, width: int) -> bool:
    """Whether operands lie by parts of an axis of such a width, which do not divide it."""
    return any(
        isinstance(node, Binary)
        and node.operation == "floormod"
        and node.left is axis
        and isinstance(node.right, Literal)
        and node.right.value == width
        for node in sub_expressions(nest.body)
    )


def with_long_rows(nest: Nest) -> Nest:
    """The nest with the lines of short rows as one, if the left operand has them beside each other.

    before:  axes (y, x, ..): y[49] stored at y * 9 + x
    after:   axes (yx, ..): stored at (yx // 7) * 9 + yx % 7
    """
    match = intrinsic_match(nest)
    if match is None or match.register_rows >= FEW_ROWS * match.pattern.rows:
        return nest
    position = nest.axes.index(match.row)
    if not position:
        return nest
    line, (left, right) = nest.axes[position - 1], map(form_of, match.terms[0])
    extent = match.row.extent
    if left.coefficient(line) != left.coefficient(match.row) * extent:
        return nest
    if right.coefficient(line):  # each line has weights of its own
        return nest
    fused = Axis(f"{line.name}{match.row.name}"[:12], line.extent * extent)
    parts: dict[Axis, Scalar] = {line: fused // extent, match.row: fused % extent}
    whole: dict[Axis, Scalar] = {line: fused * 0, match.row: fused}
    body, *others = nest.roots
    roots = [simplify(body, whole), *(substitute(root, parts) for root in others)]
    axes = (*nest.axes[: position - 1], fused, *nest.axes[position + 1 :])
    return with_long_rows(with_roots(nest, roots, axes, nest.reduction))
