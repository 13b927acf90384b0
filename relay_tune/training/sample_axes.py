"""Which axis of a tensor counts samples, and what is a total over them: read from computations.

    [i, j] = sum(k: x[i, k] * w[j, k])      x: sample i // 1    ->   result: sample i // 1
    [i, j] = x[i // 128, i % 128, j]        x: sample i // 1    ->   result: sample i // 128
    [i, j] = x[i // 16, i % 16, j]          x: sample j // 1    ->   result: i % 16
    [] = sum(i, j: x[i, j])                 x: sample i // 1    ->   result: a sum over samples
    [i, j] = sum(k: x[k, j] * x[i, k])      samples meet        ->   CoupledError

No operator is named here: those from outside are read as ours are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import partial
from itertools import zip_longest
from math import isclose

from relay_tune.ir.expr import Function
from relay_tune.op.lower import lower_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.expression import (
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Scalar,
    Select,
    Tensor,
    Unary,
)
from relay_tune.tensor.tensor import Computed, Input
from relay_tune.tensor.walk import contains_load, loads, sub_expressions
from relay_tune.training.sample_numbers import CoupledError, SampleAxis, forms_of, sample_axes


@dataclass(frozen=True)
class Samples:
    """A tensor with an axis of samples: its element i belongs to sample i // each % samples."""

    axis: int
    each: int = 1


class Total(Enum):
    """A tensor that is a total over all samples."""

    SUM = "sum"
    MEAN = "mean"


Spread = Samples | Total | None
"""How a tensor depends on the samples of a batch; None: not at all."""


@dataclass(frozen=True)
class CallSpread:
    """How the results of a call depend on samples.

    Attributes:
        results: of each tensor of the result.
        along: of each tensor of the arguments that does not depend on samples, but is read at the
            number of one.
        tensors: all that is computed.
    """

    results: tuple[Spread, ...]
    along: tuple[Samples | None, ...]
    tensors: tuple[Tensor, ...]

    def beside(self, function: Function, parts: int) -> tuple[Spread, ...]:
        """The results, where `function` is the same call of one of so many parts of the samples.

        What divides by the number of samples is a mean. Raises CoupledError where other numbers
        depend on how many there are.
        """
        smaller = tensors_in_order(lower_function(function).outputs)
        if len(smaller) != len(self.tensors):
            raise CoupledError
        pairs = zip(self.tensors, smaller, strict=True)
        divided = [_divides(*pair, parts) for pair in pairs]
        if not any(divided):
            return self.results
        return tuple(Total.MEAN if isinstance(each, Total) else each for each in self.results)


def call_spread(function: Function, given: Sequence[Spread], samples: int) -> CallSpread:
    """That of the call of an operator.

    Args:
        function: typed, of sizes that are numbers: its body is the call, its parameters the
            arguments.
        given: of each tensor of the arguments.
        samples: of the batch.

    Raises CoupledError where the result is neither, RelayError where there is no computation.
    """
    program = lower_function(function)
    finder = _Finder(samples, dict(zip(program.inputs, given, strict=True)))
    finder.known |= dict.fromkeys((tensor for tensor, _ in program.constants), None)
    order = tensors_in_order(program.outputs)
    for tensor in order:
        if tensor not in finder.known:
            finder.known[tensor] = finder.spread_of(tensor)
    results = tuple(finder.known[each] for each in program.outputs)
    return CallSpread(results, tuple(map(finder.along.get, program.inputs)), tuple(order))


def _divides(whole: Tensor, part: Tensor, parts: int) -> bool:
    """Whether a total is divided by the number of samples: of all, and of one of the parts."""
    if not isinstance(whole, Computed) or not isinstance(part, Computed):
        return False
    pairs = zip_longest(_values(whole.body), _values(part.body))
    if all(_alike(*pair) for pair in pairs):
        return False
    factor, larger = _factor(whole.body), _factor(part.body)
    if not factor or not larger or not isclose(larger, parts * factor, rel_tol=1e-6):
        raise CoupledError
    return True


def _values(body: Scalar) -> Iterator[Scalar]:
    """The nodes of a computation, without those that compute indices.

    A sum over one element is this one.
    """
    stack = [body.body if isinstance(body, Reduce) else body]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Select) and not contains_load(node.condition):
            stack += (node.if_true, node.if_false)
        elif not isinstance(node, Load):
            stack += _operands(node)


def _alike(whole: Scalar | None, part: Scalar | None) -> bool:
    """Whether two nodes are of a kind, and equal if they are numbers."""
    if isinstance(whole, Literal) and isinstance(part, Literal):
        return repr(whole.value) == repr(part.value)
    same = getattr(whole, "operation", "") == getattr(part, "operation", "")
    return same and type(whole) is type(part)


def _factor(body: Scalar) -> float | None:
    """What a computation multiplies the only element by that it reads; None if it does more."""
    match body:
        case Load():
            return 1.0
        case Literal():
            return float(body.value)
        case Cast() | Unary(operation="neg"):
            factor = _factor(body.operand)
            return factor if factor is None or isinstance(body, Cast) else -factor
        case Binary(operation="mul" | "div", left=left, right=right):
            first, second = _factor(left), _factor(right)
            if first is None or not second:
                return None
            return first * second if body.operation == "mul" else first / second
    return None


class _Finder:
    """The spreads that were found so far, by tensor, and axes along samples by input."""

    def __init__(self, samples: int, known: dict[Tensor, Spread]) -> None:
        self.samples = samples
        self.known = known
        self.along: dict[Tensor, Samples] = {}

    def spread_of(self, tensor: Tensor) -> Spread:
        """That of a tensor whose sources are known."""
        spreads = [self.known[source] for source in dependencies(tensor)]
        if all(each is None for each in spreads):
            return None
        if not isinstance(tensor, Computed):
            raise CoupledError
        if any(isinstance(each, Total) for each in spreads):
            return self._total(tensor.body)
        return self._samples(tensor)

    def _samples(self, tensor: Computed) -> Spread:
        """That of a tensor that reads samples."""
        body = tensor.body
        reduced = body.axes if isinstance(body, Reduce) else ()
        axes = [axis for axis in (*tensor.axes, *reduced) if axis.extent % self.samples == 0]
        counted = next(filter(partial(self._reads, body), sample_axes(axes, self.samples)), None)
        if counted is None:
            raise CoupledError
        self._check(body, counted)
        if counted.axis in tensor.axes:
            return Samples(tensor.axes.index(counted.axis), counted.each)
        assert isinstance(body, Reduce)
        if body.operation != "sum":
            raise CoupledError
        return Total.SUM

    def _reads(self, body: Scalar, counted: SampleAxis) -> bool:
        """Whether the first sample that a computation reads is the one that an axis counts."""
        for load in loads(body):
            spread = self.known[load.tensor]
            if isinstance(spread, Samples):
                index = load.indices[spread.axis]
                try:
                    form = forms_of(sub_expressions(index), counted, _operands)[index]
                except CoupledError:
                    return False
                return counted.counts(form, spread.each)
        return False

    def _check(self, body: Scalar, counted: SampleAxis) -> None:
        """CoupledError unless a computation is the same for all samples but for what it reads."""
        forms: dict[Scalar, Affine | None] = {}
        for node in sub_expressions(body):
            parts = [forms[part] for part in _operands(node)]
            if isinstance(node, Load):
                self._check_load(node, parts, counted)
                forms[node] = None
            else:
                forms[node] = counted.form(node, parts)
        if counted.depends(forms[body]):
            raise CoupledError

    def _check_load(
        self, load: Load, indices: Sequence[Affine | None], counted: SampleAxis
    ) -> None:
        """CoupledError unless the sample is all that depends on its number."""
        spread = self.known[load.tensor]
        axes = [axis for axis, form in enumerate(indices) if counted.depends(form)]
        if spread is None and len(axes) == 1:
            (axis,) = axes
            form = indices[axis]
            assert form is not None
            spread = Samples(axis, form.coefficient(counted.sample))
            is_whole = load.tensor.shape[axis] % (self.samples * spread.each) == 0
            if not is_whole or not isinstance(load.tensor, Input):
                raise CoupledError
            if self.along.setdefault(load.tensor, spread) != spread:
                raise CoupledError
        if isinstance(spread, Samples):
            if axes != [spread.axis] or not counted.counts(indices[axes[0]], spread.each):
                raise CoupledError
        elif axes:
            raise CoupledError

    def _total(self, body: Scalar) -> Total:
        """That of a computation which reads totals; CoupledError unless it is linear in them."""
        kinds: dict[Scalar, Total | None] = {}
        for node in sub_expressions(body):
            parts = [kinds[part] for part in _operands(node)]
            kinds[node] = _kind(node, parts, self.known)
        kind = kinds[body]
        assert kind is not None
        return kind


def _operands(node: Scalar) -> Sequence[Scalar]:
    match node:
        case Binary():
            return node.left, node.right
        case Unary() | Cast():
            return (node.operand,)
        case Select():
            return node.condition, node.if_true, node.if_false
        case Reduce():
            return (node.body,)
        case Load():
            return node.indices
    return ()


def _kind(node: Scalar, parts: Sequence[Total | None], known: dict[Tensor, Spread]) -> Total | None:
    """Which total a node is whose operands are these; None: none."""
    if isinstance(node, Load):
        spread = known[node.tensor]
        if isinstance(spread, Samples) or any(parts):
            raise CoupledError
        return spread
    if not any(parts):
        return None
    match node, parts:
        case Reduce(operation="sum") | Cast() | Unary(operation="neg"), [Total() as kind]:
            return kind
        case Binary(operation="mul"), [Total() as kind, None] | [None, Total() as kind]:
            return kind
        case Binary(operation="div"), [Total() as kind, None]:
            return kind
        case Binary(operation="add" | "sub"), [left, right]:
            if left is right:
                return left
            if {left, right} == {Total.MEAN, None}:
                return Total.MEAN
        case Select(), [None, left, right] if left is right:
            return left
    raise CoupledError
