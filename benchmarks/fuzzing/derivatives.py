"""Whether the derivatives of a call of an operator are right: compared with differences.

All is computed in float64, by the evaluator of tensor expressions. The changes that forward mode
gives are compared with central differences along a random direction, reverse mode with forward mode
(<J v, u> = <v, J' u>), and derivatives of adjoints with differences of adjoints. Indices that a
program refuses are brought inside first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Attributes, Call, Expr, Function, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op.lower import lower_function
from relay_tune.op_rules.gradient.derived import (
    Rule,
    TangentRule,
    composed_adjoints,
    composed_tangent,
    derived_adjoints,
    derived_tangent,
    expression_adjoints,
    is_composed,
)
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.gradient.table import adjoints_of, tangents_of
from relay_tune.op_rules.indices.uses import Path, index_uses
from relay_tune.op_rules.matching import is_float
from relay_tune.op_rules.typed import call_operator, tuple_of, with_types
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import sub_expressions

Array = np.ndarray[Any, Any]
Value = Array | tuple[Array, ...]

STEP = 1e-5
DIFFERENCE_BAR = 1e-6
DOT_BAR = 1e-12
SECOND_BAR = 1e-5
LARGE = 1e3
NARROW_STEP = 1e-2
NARROW_BAR = 1e-2
FLOATS = ("float16", "bfloat16", "float32", "float64")


def _derived_adjoints(known: Differentiated) -> Sequence[Adjoint]:
    if is_composed(known.call):
        return composed_adjoints(known, _derived_adjoints)
    return derived_adjoints(known)


def _derived_tangent(call: Call, result: Expr, tangents: Sequence[Adjoint]) -> Adjoint:
    if is_composed(call):
        return composed_tangent(call, tangents, _derived_tangent)
    return derived_tangent(call, tangents)


WRITTEN: tuple[Rule, TangentRule] = (adjoints_of, tangents_of)
"""The rules of the compiler, by hand where there are any."""

DERIVED: tuple[Rule, TangentRule] = (_derived_adjoints, _derived_tangent)
"""What is derived from computations alone."""


class Outcome(Enum):
    """What is found of the derivatives of a call."""

    RIGHT = "right"
    NONE = "no float path"
    CONSTANT = "declared constant"
    REFUSED = "refused"
    WRONG = "wrong"
    NO_FORM = "no form in float64"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a call, and in words what is wrong or why it is refused.

    Attributes:
        outcome: of the first derivatives.
        note: why.
        second: whether second derivatives are right; None where there are none.
    """

    outcome: Outcome
    note: str = ""
    second: bool | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A call of an operator on variables.

    Attributes:
        call: the call.
        inputs: its tensors.
        arrays: their values.
        directions: for each input of floats a variable of its type, else None.
        weights: for each result of floats a variable of its type, else None.
    """

    call: Call
    inputs: tuple[Var, ...]
    arrays: tuple[Array, ...]
    directions: tuple[Var | None, ...]
    weights: tuple[Var | None, ...]

    @property
    def results(self) -> list[Expr]:
        """The tensors of the result."""
        return _fields(self.call)

    @property
    def adjoint(self) -> Adjoint:
        """The weights in the form of the result."""
        return self.weights if isinstance(self.call.type, TupleType) else self.weights[0]

    def by_argument(self, flat: Sequence[Any]) -> list[Any]:
        """Values of inputs in the form of the arguments."""
        values = iter(flat)
        return [
            tuple(next(values) for _ in argument.fields)
            if isinstance(argument, Tuple)
            else next(values)
            for argument in self.call.arguments
        ]


def finding(
    operator: Operator,
    arrays: Sequence[Value],
    attributes: Attributes,
    rules: tuple[Rule, TangentRule] = WRITTEN,
    seed: int = 0,
) -> Finding:
    """Whether the first and second derivatives of a call are right, of both modes."""
    adjoints_of, tangents_of = rules
    try:
        typed = _at_valid_indices(_typed(operator, arrays, attributes))
        value = _at_smooth_point(typed, np.random.default_rng(seed))
    except (RelayError, KeyError, TypeError, ValueError, IndexError) as error:
        return Finding(Outcome.NO_FORM, str(error).split("\n")[0])
    if not any(typed.directions) or not any(typed.weights):
        return Finding(Outcome.NONE)
    try:
        adjoints = _flat(typed, adjoints_of(Differentiated(typed.call, typed.call, typed.adjoint)))
        known = dict(zip(typed.inputs, typed.directions, strict=True))
        changes = tangents_of(typed.call, typed.call, typed.by_argument(list(known.values())))
        note = _first_note(typed, value, adjoints, changes)
    except RelayError as error:
        return Finding(Outcome.REFUSED, error.message)
    if note:
        return Finding(Outcome.WRONG, note)
    if not any(adjoints):
        return Finding(Outcome.CONSTANT)
    return Finding(Outcome.RIGHT, *_second(typed, value, adjoints, adjoints_of))


def _at_smooth_point(typed: Typed, rng: np.random.Generator) -> _Valued:
    """Values at which results are finite and differences of both sides agree, if there are any.

    Those of the test, these without infinities and ties, or others, for functions of a domain.
    """
    value = first = _Valued(typed, rng, typed.arrays)
    for low, high in (None, None), (0.2, 0.8), (1.2, 1.9):
        if value.is_smooth():
            return value
        value = _Valued(typed, rng, [_tamed(array, rng, low, high) for array in typed.arrays])
    return value if value.is_smooth() else first


def _tamed(array: Array, rng: np.random.Generator, low: float | None, high: float | None) -> Array:
    if array.dtype.kind != "f":
        return array
    if low is not None and high is not None:
        return np.asarray(rng.uniform(low, high, array.shape), array.dtype)
    others = rng.standard_normal(array.shape)
    is_usual = np.isfinite(array) & (np.abs(array) < LARGE)
    return np.asarray(np.where(is_usual, array + 0.01 * others, others), array.dtype)


def typed_call(operator: Operator, arrays: Sequence[Value], attributes: Attributes) -> Typed:
    """The call on variables."""
    flat = [a for each in arrays for a in (each if isinstance(each, tuple) else (each,))]
    inputs = tuple(_variable(f"x{n}", array) for n, array in enumerate(flat))
    rest = iter(inputs)
    arguments = [
        tuple_of([next(rest) for _ in each]) if isinstance(each, tuple) else next(rest)
        for each in arrays
    ]
    whole = call_operator(operator, arguments, attributes)
    directions = tuple(
        _variable(f"v{n}", array) if is_float(x) else None
        for n, (x, array) in enumerate(zip(inputs, flat, strict=True))
    )
    weights = tuple(
        Var(f"u{n}", field.type, type=field.type) if is_float(field) else None
        for n, field in enumerate(_fields(whole))
    )
    return Typed(whole, inputs, tuple(flat), directions, weights)


def _typed(operator: Operator, arrays: Sequence[Value], attributes: Attributes) -> Typed:
    """The call in float64, or as it is where the operator asks for other floats."""
    try:
        return typed_call(operator, [_wide(array) for array in arrays], _wide_record(attributes))
    except RelayError:
        return typed_call(operator, arrays, attributes)


def _at_valid_indices(typed: Typed) -> Typed:
    """The call at indices that its axes have: others end a program before it gets there."""
    arrays = dict(zip(typed.inputs, typed.arrays, strict=True))
    for use in index_uses(typed.call):
        indices = _input_at(typed.call, use.indices)
        shape = arrays[_input_at(typed.call, use.data)].shape
        sizes = np.array([prod(shape)] if use.axes is None else [shape[axis] for axis in use.axes])
        found = arrays[indices].astype("int64")
        if use.coordinates is not None:
            others = [n for n in range(found.ndim) if n != use.coordinates % found.ndim]
            sizes = np.expand_dims(sizes, tuple(others))
        keeps = (found >= -sizes) & (found < sizes) | (found == use.ignored)
        arrays[indices] = np.where(keeps, found, found % sizes).astype(arrays[indices].dtype)
    return replace(typed, arrays=tuple(arrays.values()))


def _input_at(call: Call, path: Path) -> Var:
    found: Any = call
    for number in path:
        found = found.arguments[number] if found is call else found.fields[number]
    assert isinstance(found, Var)
    return found


def _wide(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(
            array for each in value for array in [_wide(each)] if isinstance(array, np.ndarray)
        )
    return value.astype("float64") if value.dtype.name in FLOATS else value


def _wide_record(record: Attributes) -> Attributes:
    names = [f.name for f in fields(record) if _is_float_name(getattr(record, f.name))]
    return replace(record, **dict.fromkeys(names, "float64"))


def _is_float_name(value: object) -> bool:
    return isinstance(value, str) and value in FLOATS


def _variable(name: str, array: Array) -> Var:
    type_ = TensorType(array.shape, array.dtype.name)
    return Var(name, type_, type=type_)


def _fields(value: Expr) -> list[Expr]:
    if not isinstance(value.type, TupleType):
        return [value]
    return [with_types(TupleGetItem(value, n)) for n in range(len(value.type.fields))]


def _flat(typed: Typed, adjoints: Sequence[Adjoint]) -> list[Expr | None]:
    """The adjoint of each tensor of the arguments."""
    found: list[Any] = []
    for argument, adjoint in zip(typed.call.arguments, adjoints, strict=True):
        count = len(argument.fields) if isinstance(argument, Tuple) else 1
        found += adjoint if isinstance(adjoint, tuple) else [adjoint] * count
    return found


class _Valued:
    """Random directions and weights, and expressions evaluated with them."""

    def __init__(self, typed: Typed, rng: np.random.Generator, arrays: Sequence[Array]) -> None:
        self.typed = typed
        self.feeds = dict(zip(typed.inputs, arrays, strict=True))
        self.directions = {
            x: np.asarray(rng.standard_normal(self.feeds[x].shape), self.feeds[x].dtype)
            for x, v in zip(typed.inputs, typed.directions, strict=True)
            if v is not None
        }
        for x, v in zip(typed.inputs, typed.directions, strict=True):
            if v is not None:
                self.feeds[v] = self.directions[x]
        for weight in filter(None, typed.weights):
            type_ = weight.type
            assert isinstance(type_, TensorType)
            shape = tuple(size for size in type_.shape if isinstance(size, int))
            self.feeds[weight] = np.asarray(rng.standard_normal(shape), type_.dtype)
        self.is_narrow = False
        self(typed.results)

    def is_smooth(self) -> bool:
        """Whether results are finite, and change alike on both sides."""
        if any((np.abs(self.feeds[x]) > LARGE).any() for x in self.directions):
            return False
        shown = [r for r, u in zip(self.typed.results, self.typed.weights, strict=True) if u]
        if not all(np.isfinite(found).all() for found in self(shown)):
            return False
        step = self.step
        ends = [
            self(shown, {x: self.feeds[x] + s * v for x, v in self.directions.items()})
            for s in (-step, 0, step)
        ]
        return all(
            _distance(2 * middle, low + high) <= 1e-2 * step
            for low, middle, high in zip(*ends, strict=True)
        )

    @property
    def step(self) -> float:
        """The step of differences."""
        return NARROW_STEP if self.is_narrow else STEP

    def bar(self, wide: float) -> float:
        """How much may differ: for calls that are computed in float32 inside more than `wide`."""
        return NARROW_BAR if self.is_narrow else wide

    def __call__(
        self, results: Sequence[Expr], changed: Mapping[Var, Array] | None = None
    ) -> list[Array]:
        """The values of expressions, with other values of some variables."""
        feeds = self.feeds | dict(changed or {})
        program = lower_function(Function(tuple(feeds), Tuple(tuple(results))))
        arrays = dict(zip(program.inputs, feeds.values(), strict=True))
        tensors = tensors_in_order(program.outputs)
        self.is_narrow |= any(map(_computes_in_less, tensors))
        arrays |= {tensor: np.asarray(data) for tensor, data in program.constants}
        with np.errstate(all="ignore"):
            return evaluate(program.outputs, arrays)

    def difference(self, results: Sequence[Expr]) -> list[Array]:
        """The change of results along the directions of all inputs, by differences."""
        ends = [
            self(results, {x: self.feeds[x] + s * v for x, v in self.directions.items()})
            for s in (-self.step, self.step)
        ]
        return [(high - low) / (2 * self.step) for low, high in zip(*ends, strict=True)]


def _computes_in_less(tensor: Tensor) -> bool:
    """Whether something is computed in floats of fewer than 64 bits."""
    nodes = sub_expressions(tensor.body) if isinstance(tensor, Computed) else ()
    return any(dtype in FLOATS[:-1] for dtype in (tensor.dtype, *(node.dtype for node in nodes)))


def _first_note(
    typed: Typed, value: _Valued, adjoints: Sequence[Expr | None], changes: Adjoint
) -> str:
    """What is wrong with first derivatives; empty where nothing is."""
    pairs = [(r, u) for r, u in zip(typed.results, typed.weights, strict=True) if u is not None]
    each = changes if isinstance(changes, tuple) else (changes,) * len(typed.results)
    forward = [c for c, u in zip(each, typed.weights, strict=True) if u is not None]
    shown = [c for c in forward if isinstance(c, Expr)]
    known = iter(value(shown))
    found = [
        next(known) if isinstance(c, Expr) else np.zeros(value.feeds[u].shape)
        for c, (_, u) in zip(forward, pairs, strict=True)
    ]
    expected = value.difference([r for r, _ in pairs])
    error = max(map(_distance, found, expected))
    note = "" if error <= value.bar(DIFFERENCE_BAR) else f"differs from differences by {error:.1e}"
    left = [c * value.feeds[u] for c, (_, u) in zip(found, pairs, strict=True)]
    shown = [a for a in adjoints if a is not None]
    xs = [x for x, a in zip(typed.inputs, adjoints, strict=True) if a is not None]
    right = [a * value.directions[x] for x, a in zip(xs, value(shown), strict=True)]
    size = max(sum(np.abs(p).sum() for p in left), sum(np.abs(p).sum() for p in right), 1.0)
    error = abs(sum(p.sum() for p in left) - sum(p.sum() for p in right)) / size
    if not error <= value.bar(DOT_BAR):
        note += f" reverse and forward mode differ by {error:.1e}"
    return note


def _distance(found: Array, expected: Array) -> float:
    if not found.size:
        return 0.0
    scale = max(float(np.abs(expected).max()), 1.0)
    return float(np.abs(found - expected).max()) / scale


def _second(
    typed: Typed, value: _Valued, adjoints: Sequence[Expr | None], rule: Rule
) -> Iterator[Any]:
    """(note, whether second derivatives are right): H v by reverse mode and by differences."""
    pairs = [
        (x, a, v)
        for x, a, v in zip(typed.inputs, adjoints, typed.directions, strict=True)
        if a is not None and v is not None
    ]
    body = tuple_of([a for _, a, _ in pairs])
    try:
        found = expression_adjoints(
            body, tuple(v for _, _, v in pairs), [x for x, _, _ in pairs], rule
        )
        shown = [f for f in found if isinstance(f, Expr)]
        values = value(shown)
        expected = value.difference([a for _, a, _ in pairs])
    except RelayError as error:
        return iter((error.message, None))
    known = iter(values)
    both = [
        (next(known) if isinstance(f, Expr) else np.zeros(e.shape), e)
        for f, e in zip(found, expected, strict=True)
    ]
    worst = max(_distance(f, e) for f, e in both)
    if worst <= value.bar(SECOND_BAR):
        return iter(("", bool(shown) or None))
    return iter((f"second derivatives differ by {worst:.1e}", False))
