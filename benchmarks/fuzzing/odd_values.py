"""What one odd element of an operand does to the results of an operator.

An odd element is an outlier, an infinity or a NaN. The record's reference in numpy says which
results it changes, and which become infinite or NaN: the native code must change no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.fuzzing.odd_cases.case import Case, Draw, Operand
from benchmarks.fuzzing.odd_cases.table import CASES
from relay_tune.ir.expr import Expr, Function, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.types import TensorType
from relay_tune.tuning.tuned_build import build

Array = np.ndarray[Any, Any]

ODD = (1e4, -1e6, 1e30, np.inf, -np.inf, np.nan)

TOLERANCE = 1e-5
"""The largest difference from float64 on ordinary input, as a share of the largest result."""

ROUNDING = 1e-6
"""By how much results that must not change may differ, as a share of themselves."""

SMALL = 1e-2
"""Smaller results of ordinary input, which is about 1, are what sums leave that cancel out."""

IN_TILES = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
"""Operators whose `fast` results may depend on others of their sample."""


@dataclass(frozen=True, slots=True)
class Position:
    """An element of an operand."""

    operand: int
    field: int
    index: tuple[int, ...]


def problems(name: str, seed: int) -> Iterator[str]:
    """What is wrong with a random call of an operator; nothing if all is right."""
    draw = Draw(np.random.default_rng([seed, *name.encode()]))
    operator = find_operator(name)
    assert operator is not None
    case = CASES[name](draw)
    accuracy = draw.pick("exact", "fast")
    fixed = {number for number in case.weights if draw.pick(True, False)}
    model = build(
        Module({"main": function_of(operator, case, fixed)}),
        accuracy=accuracy,
        threads=draw.pick(1, 2),
    )

    def native(operands: Sequence[Operand]) -> list[Array]:
        found = [leaf for n, each in enumerate(operands) if n not in fixed for leaf in leaves(each)]
        return results_of(model(*found))

    before, wide = native(case.operands), reference(operator, case, case.operands)
    for number, (ours, theirs) in enumerate(zip(before, wide, strict=True)):
        error = _error(ours, theirs)
        if error > TOLERANCE:
            yield f"{accuracy}: result {number} of ordinary input is {error:.2g} off"
    own_samples = accuracy == "fast" and name in IN_TILES
    positions = list(_positions(case, fixed, draw))
    for odd in ODD if positions else ():
        position = draw.pick(*positions)
        operands = with_element(case.operands, position, odd)
        after = native(operands)
        for line in changes(operator, case, operands, (before, after, wide), own_samples):
            yield f"{accuracy}, {odd} at {position.index} of operand {position.operand}: {line}"


def function_of(operator: Operator, case: Case, fixed: set[int]) -> Function:
    """A call of the operator on variables; operands in `fixed` are constants."""
    params: list[Var] = []

    def expression(value: Operand, is_fixed: bool) -> Expr:
        if isinstance(value, tuple):
            return Tuple(tuple(expression(each, is_fixed) for each in value))
        if is_fixed:
            return constant(value)
        params.append(Var(f"x{len(params)}", TensorType(value.shape, value.dtype.name)))
        return params[-1]

    arguments = [expression(each, number in fixed) for number, each in enumerate(case.operands)]
    return Function(tuple(params), operator(*arguments, **case.attributes))


def leaves(operand: Operand) -> tuple[Array, ...]:
    """The arrays of an operand."""
    return operand if isinstance(operand, tuple) else (operand,)


def with_element(
    operands: Sequence[Operand], position: Position, value: float
) -> tuple[Operand, ...]:
    """The operands with another element."""
    changed = [array.copy() for array in leaves(operands[position.operand])]
    changed[position.field][position.index] = value
    operand = tuple(changed) if isinstance(operands[position.operand], tuple) else changed[0]
    return tuple(operand if n == position.operand else each for n, each in enumerate(operands))


def reference(
    operator: Operator, case: Case, operands: Sequence[Operand], dtype: str = "float64"
) -> list[Array]:
    """What numpy gives for operands of a wider type."""

    def widened(value: Operand) -> Operand:
        if isinstance(value, tuple):
            return tuple(np.asarray(widened(each)) for each in value)
        return value.astype(dtype) if value.dtype.kind == "f" else value

    with np.errstate(all="ignore"):
        record = operator.attributes(**case.attributes)
        return results_of(operator.reference(record, *map(widened, operands)))


def changes(
    operator: Operator,
    case: Case,
    operands: Sequence[Operand],
    results: tuple[list[Array], list[Array], list[Array]],
    own_samples: bool,
) -> Iterator[str]:
    """What the native results do that the reference's results do not."""
    wide_after = reference(operator, case, operands)
    direct_after = reference(operator, case, operands, "float32")
    for number, (before, after, wide, wide_odd, direct_odd) in enumerate(
        zip(*results, wide_after, direct_after, strict=True)
    ):
        with np.errstate(all="ignore"):
            narrow = wide_odd.astype(direct_odd.dtype)
        stays = near_equal(wide, wide_odd) & near_equal(direct_odd, narrow, 1e-3)
        if own_samples:
            stays &= stays.reshape(len(stays), -1).all(1).reshape(-1, *[1] * (stays.ndim - 1))
        moved = stays & ~near_equal(before, after, ROUNDING)
        if moved.any():
            yield f"result {number}: {moved.sum()} of {stays.sum()} change that must not"
        with np.errstate(all="ignore"):
            narrow = wide_odd.astype(after.dtype)
        wrong = (_kind(after) != _kind(narrow)) & (_kind(after) != _kind(direct_odd))
        wrong &= stays if own_samples else True
        if wrong.any():
            first = tuple(int(n) for n in np.argwhere(wrong)[0])
            yield (
                f"result {number}: {wrong.sum()} infinite or NaN elsewhere, the first at {first}: "
                f"{after[first]} in place of {narrow[first]} ({direct_odd[first]} in float32)"
            )


def _positions(case: Case, fixed: set[int], draw: Draw) -> Iterator[Position]:
    """One random element of each float operand that is no constant."""
    for number, operand in enumerate(case.operands):
        for leaf, array in enumerate(leaves(operand)):
            if number not in (*fixed, *case.sound) and array.dtype.kind == "f" and array.size:
                yield Position(number, leaf, tuple(draw.size(0, size - 1) for size in array.shape))


def results_of(found: Any) -> list[Array]:
    """The arrays of a result or of a tuple of them."""
    return [np.asarray(each) for each in (found if isinstance(found, (tuple, list)) else [found])]


def _kind(values: Array) -> Array:
    """0 for finite numbers, 1 and -1 for infinities, 2 for NaN."""
    if values.dtype.kind != "f":
        return np.zeros(values.shape, np.int8)
    signs = np.where(np.isinf(values), np.sign(values), 0)
    return np.asarray(np.where(np.isnan(values), 2, signs))


def near_equal(left: Array, right: Array, share: float = 0.0) -> Array:
    """Which elements are equal, NaN included, or nearly so."""
    with np.errstate(all="ignore"):
        same = (left == right) | ((left != left) & (right != right))
        if share and left.dtype.kind == "f":
            same |= np.abs(left - right) <= share * np.minimum(np.abs(left), np.abs(right))
    return np.asarray(same)


def _error(ours: Array, theirs: Array) -> float:
    """The largest difference as a share of the largest result."""
    if ours.dtype.kind != "f":
        return float(np.any(ours != theirs))
    kept = np.isfinite(theirs) & np.isfinite(ours)
    if not kept.any():
        return 0.0
    return float(np.abs(ours - theirs)[kept].max() / max(np.abs(theirs[kept]).max(), SMALL))
