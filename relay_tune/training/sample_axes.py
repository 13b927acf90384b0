"""Which axis of a tensor counts samples, and what is a total over them: read from computations.

    [i, j] = sum(k: x[i, k] * w[j, k])      x: sample i // 1    ->   result: sample i // 1
    [i, j] = x[i // 128, i % 128, j]        x: sample i // 1    ->   result: sample i // 128
    [] = sum(i, j: x[i, j])                 x: sample i // 1    ->   result: a sum over samples
    [i, j] = sum(k: x[k, j] * x[i, k])      samples meet        ->   CoupledError

No operator is named here: those from outside are read as ours are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import zip_longest
from math import isclose

from relay_tune.ir.expr import Function
from relay_tune.op.lower import lower_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.expression import (
    Axis,
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
from relay_tune.tensor.walk import loads, sub_expressions


class CoupledError(Exception):
    """Samples of a batch meet where they must not."""


@dataclass(frozen=True)
class Samples:
    """A tensor with an axis of samples: its element i belongs to sample i // each."""

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
    """The nodes of a computation, without the indices at which it reads.

    A sum over one element is this one.
    """
    stack = [body.body if isinstance(body, Reduce) else body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Load):
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
        found = {
            self._number(load.indices[spread.axis], spread.each)
            for load in loads(body)
            if isinstance(spread := self.known[load.tensor], Samples)
        }
        if len(found) != 1 or None in found:
            raise CoupledError
        ((axis, each),) = (pair for pair in found if pair is not None)
        _Shift(self, axis, each).check(body)
        if axis in tensor.axes:
            return Samples(tensor.axes.index(axis), each)
        assert isinstance(body, Reduce)
        if body.operation != "sum":
            raise CoupledError
        return Total.SUM

    def _number(self, index: Scalar, each: int) -> tuple[Axis, int] | None:
        """The axis v and number n such that index // each is v // n, and v counts all samples."""
        while isinstance(index, Binary) and index.operation == "floordiv":
            divisor = index.right
            if not isinstance(divisor, Literal):
                return None
            index, each = index.left, each * int(divisor.value)
        form = axis_affine(index)
        if form is None or not form.terms:
            return None
        axis = max(form.terms, key=form.coefficient)
        step = form.coefficient(axis)
        assert isinstance(axis, Axis)
        low, high = form.without(axis).bounds(lambda part: (0, getattr(part, "extent", 1) - 1))
        if step < 1 or low < 0 or high >= step or each % step:
            return None
        number = each // step
        return (axis, number) if axis.extent == self.samples * number else None

    def read_along(self, tensor: Tensor, place: int, index: Scalar, step: int) -> tuple[Axis, int]:
        """Note that a tensor which does not depend on samples is read at the number of one."""
        number = self._number(index, step)
        spread = Samples(place, step)
        is_whole = tensor.shape[place] == self.samples * step
        if number is None or not is_whole or not isinstance(tensor, Input):
            raise CoupledError
        if self.along.setdefault(tensor, spread) != spread:
            raise CoupledError
        return number

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


@dataclass(frozen=True)
class _Shift:
    """How the numbers in a computation change from a sample to the next one.

    Attributes:
        finder: what is known of tensors.
        axis, each: the axis that counts samples, each of which has so many of it.
    """

    finder: _Finder
    axis: Axis
    each: int

    def check(self, body: Scalar) -> None:
        """CoupledError unless a computation is the same for all samples."""
        steps: dict[Scalar, int] = {}
        for node in sub_expressions(body):
            steps[node] = self._step(node, steps.__getitem__)
        if steps[body]:
            raise CoupledError

    def _step(self, node: Scalar, step: Callable[[Scalar], int]) -> int:
        """By how much a node's value changes."""
        if isinstance(node, Axis):
            return self.each if node is self.axis else 0
        if isinstance(node, Load):
            return self._read(node, [step(index) for index in node.indices])
        steps = [step(part) for part in _operands(node)]
        if not any(steps):
            return 0
        if isinstance(node, Binary):
            return _step_of(node, steps[0], steps[1])
        raise CoupledError

    def _read(self, load: Load, steps: Sequence[int]) -> int:
        """Nothing, if all that changes is the sample that is read."""
        spread = self.finder.known[load.tensor]
        moved = [place for place, step in enumerate(steps) if step]
        if isinstance(spread, Samples):
            if moved != [spread.axis] or steps[spread.axis] != spread.each:
                raise CoupledError
        elif moved:
            (place, *others) = moved
            number = self.finder.read_along(load.tensor, place, load.indices[place], steps[place])
            if others or number != (self.axis, self.each):
                raise CoupledError
        return 0


def _step_of(node: Binary, left: int, right: int) -> int:
    """By how much the value of index arithmetic changes; CoupledError where it is not constant."""
    number = int(node.right.value) if isinstance(node.right, Literal) else 0
    match node.operation:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul" if isinstance(node.left, Literal):
            return int(node.left.value) * right
        case "mul" if number:
            return left * number
        case "floordiv" if number and left % number == 0:
            return left // number
        case "floormod" if number and left % number == 0:
            return 0
    raise CoupledError
