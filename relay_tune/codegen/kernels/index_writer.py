"""Indices and offsets to affine forms over loop variables and the lane, and these to LLVM values.

What does not depend on the lane stays a scalar. An index that is not affine, as one that is read
from a tensor, is evaluated and becomes a variable of the form, or makes the offset a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.kernels.index_quotients import (
    index_range,
    positive_divisor,
    unsigned_quotient,
)
from relay_tune.codegen.kernels.repeated_lanes import RepeatedLanes
from relay_tune.codegen.kernels.vector_lanes import LANE, VectorLanes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import (
    ZERO,
    Affine,
    Variable,
    axis_affine,
    constant,
    flat_form,
    parted_form,
    split_quotient,
)
from relay_tune.tensor.expression import (
    COMPARISONS,
    INDEX,
    Axis,
    Binary,
    Literal,
    Scalar,
    Tensor,
)
from relay_tune.tensor.index import decide_difference
from relay_tune.tensor.repeated import Repeated, repeated_form
from relay_tune.tensor.size import is_integer, is_symbolic, surely_less
from relay_tune.tensor.walk import axes_of, contains_load


@dataclass(slots=True)
class IndexWriter:
    """Finds the forms of indices, and writes those that are needed as values.

    Attributes:
        lanes: the vector loop around.
        evaluate: the value of an index that is not affine.
        environment: each axis in terms of loop variables and LANE; also what is not affine in
            axes, for the access that was looked at last.
    """

    lanes: VectorLanes
    evaluate: Callable[[Scalar], Value]
    environment: dict[Variable, Affine] = field(default_factory=dict)
    _forms: dict[tuple[Tensor, tuple[Scalar, ...]], Affine | None] = field(default_factory=dict)
    _parted: dict[tuple[Tensor, tuple[Scalar, ...]], tuple[Affine, tuple[Scalar, ...]]] = field(
        default_factory=dict
    )
    _axes: dict[Scalar, tuple[Axis, ...] | None] = field(default_factory=dict)
    _repetitions: dict[Scalar, Repeated | None] = field(default_factory=dict)
    _differences: dict[Binary, Affine | None] = field(default_factory=dict)

    def affine(self, index: Scalar) -> Affine | None:
        """An index in terms of loop variables and LANE, or None if it is not affine."""
        if isinstance(index, Axis):
            return self.environment.get(index)
        if isinstance(index, Literal):
            return axis_affine(index)
        if not isinstance(index, Binary):
            return None
        match index.operation:
            case "add" | "sub":
                first = self.affine(index.left)
                second = None if first is None else self.affine(index.right)
                if first is None or second is None:
                    return None
                return first + second.scale(1 if index.operation == "add" else -1)
            case "mul":
                return self._multiple(index.left, index.right)
            case "floordiv" | "floormod" if isinstance(index.right, Literal):
                form, divisor = self.affine(index.left), index.right.value
                if form is None or not is_integer(divisor) or not surely_less(0, divisor):
                    return None
                parts = split_quotient(form, divisor, self.extent)
                return None if parts is None else parts[index.operation == "floormod"]
        return None

    def _multiple(self, left: Scalar, right: Scalar) -> Affine | None:
        """The form of a product with a number."""
        index, factor = (left, right) if isinstance(right, Literal) else (right, left)
        if not isinstance(factor, Literal):
            return None
        form = self.affine(index)
        return form.scale(factor.value) if form is not None and is_integer(factor.value) else None

    def extent(self, variable: object) -> tuple[int, int]:
        """The range of a variable of affine forms."""
        if variable == LANE:
            is_open = is_symbolic(self.lanes.vector.active)
            return 0, max((self.lanes.vector.lanes if is_open else self.lanes.vector.active) - 1, 0)
        return self.lanes.writer.ranges.get(str(variable), (-(1 << 40), 1 << 40))

    def affine_value(self, form: Affine) -> Value:
        """An affine form as a 64-bit value: a vector if it depends on the lane."""
        lane = form.coefficient(LANE)
        total = Value(self.lanes.writer.size(form.constant), INDEX)
        scalars = self.lanes.arithmetic(INDEX, 0)
        for variable, factor in form.without(LANE).terms.items():
            scaled = (
                str(variable)
                if factor == 1
                else scalars.binary("mul", str(variable), self.lanes.writer.size(factor))
            )
            total = Value(
                scaled if total.text == "0" else scalars.binary("add", total.text, scaled), INDEX
            )
        if lane == 0:
            return total
        spread = self.lanes.spread(total)
        vectors = self.lanes.arithmetic(INDEX, self.lanes.vector.lanes)
        steps = self._lane_steps(lane, vectors)
        return Value(vectors.binary("add", spread.text, steps), INDEX, self.lanes.vector.lanes)

    def _lane_steps(self, stride: int, vectors: Arithmetic) -> str:
        """The vector of 0, stride, 2 * stride, .."""
        lanes = range(self.lanes.vector.lanes)
        if not is_symbolic(stride):
            return "<" + ", ".join(f"i64 {stride * lane}" for lane in lanes) + ">"
        numbers = "<" + ", ".join(f"i64 {lane}" for lane in lanes) + ">"
        return vectors.binary("mul", numbers, vectors.number(stride))

    def flat_offset(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | Value:
        """The element offset of an access in row-major order: affine, or a vector of offsets."""
        form = self.form(tensor, indices)
        if form is None:
            form, parts = self._in_parts(tensor, indices)
            for part in parts:
                value = self._part(part)
                if isinstance(value, Value):
                    return self._summed_offset(tensor, indices)
                self.environment[part] = value
        known = form.substituted(self.environment)
        return self._summed_offset(tensor, indices) if known is None else known

    def _in_parts(
        self, tensor: Tensor, indices: tuple[Scalar, ...]
    ) -> tuple[Affine, tuple[Scalar, ...]]:
        """The offset of an access over axes and over other indices, and these; found once."""
        access = (tensor, indices)
        if access not in self._parted:
            form = parted_form(tensor.shape, indices)
            others = (each for each in form.terms if not isinstance(each, Axis))
            self._parted[access] = form, tuple(e for e in others if isinstance(e, Scalar))
        return self._parted[access]

    def _part(self, index: Scalar) -> Affine | Value:
        """An index that is not affine over its axes; written once where these are the same."""
        if index not in self._axes:
            self._axes[index] = None if contains_load(index) else axes_of(index)
        axes = self._axes[index]
        forms = [self.environment.get(axis) for axis in axes or ()]
        if axes is None or None in forms:
            return self._index(index)
        vector = self.lanes.vector
        where = tuple([(form.constant, *form.terms.items()) for form in forms if form is not None])
        key = (index, vector.lanes, vector.active, vector.mask, *where)
        return self.lanes.writer.once(key, lambda: self._index(index))

    def form(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | None:
        """The offset of an access over its axes if it is affine; found once for each access."""
        access = (tensor, indices)
        if access not in self._forms:
            self._forms[access] = flat_form(tensor.shape, indices)
        return self._forms[access]

    def repeated(
        self, tensor: Tensor, indices: tuple[Scalar, ...]
    ) -> tuple[Affine, RepeatedLanes] | None:
        """What the first lane reads, and how lanes share elements; None where they do not.

        Lanes must count what is divided, from a multiple of the divisor on.
        """
        if len(indices) != 1 or self.form(tensor, indices) is not None:
            return None
        found, vector = self._repeated_form(indices[0]), self.lanes.vector
        if found is None or vector.mask is not None or is_symbolic(vector.active):
            return None
        plain = found.plain.substituted(self.environment)
        divided = found.divided.substituted(self.environment)
        if plain is None or divided is None:
            return None
        if plain.coefficient(LANE) or divided.coefficient(LANE) != 1:
            return None
        parts = split_quotient(divided.without(LANE), found.divisor, self.extent)
        shape = RepeatedLanes(vector.lanes, vector.active, found.factor, found.divisor)
        if parts is None or parts[1] != ZERO or not shape.fits:
            return None
        return plain + parts[0].scale(found.factor), shape

    def _repeated_form(self, index: Scalar) -> Repeated | None:
        """The repeated form of an index over its axes; found once for each index."""
        if index not in self._repetitions:
            self._repetitions[index] = repeated_form(index)
        return self._repetitions[index]

    def _summed_offset(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | Value:
        """The offset of an access some of whose indices are not affine over its axes."""
        total: Affine | Value = constant(0)
        stride = 1
        for index, extent in zip(reversed(indices), reversed(tensor.shape), strict=True):
            total = self._add_offsets(total, self._index(index), stride)
            stride *= extent
        return total

    def _index(self, index: Scalar) -> Affine | Value:
        if isinstance(index, Binary) and index.operation in ("add", "sub") and index.dtype == INDEX:
            sign = 1 if index.operation == "add" else -1
            return self._add_offsets(self._index(index.left), self._index(index.right), sign)
        form = self.affine(index)
        if form is not None:
            return form
        value = self.evaluate(index)
        return value if value.lanes else Affine({value.text: 1})

    def _add_offsets(
        self, total: Affine | Value, more: Affine | Value, factor: int
    ) -> Affine | Value:
        if isinstance(total, Affine) and isinstance(more, Affine):
            return total + more.scale(factor)
        first = self.lanes.spread(self.affine_value(total) if isinstance(total, Affine) else total)
        second = self.lanes.spread(self.affine_value(more) if isinstance(more, Affine) else more)
        a = self.lanes.arithmetic(INDEX, self.lanes.vector.lanes)
        scaled = a.binary("mul", second.text, a.number(factor))
        return Value(a.binary("add", first.text, scaled), INDEX, self.lanes.vector.lanes)

    def unsigned_quotient(self, node: Binary, left: Value) -> Value | None:
        """A quotient or remainder of an index `left` that is known not to be negative."""
        divisor = positive_divisor(node) if node.dtype == INDEX and not left.lanes else None
        known = None if divisor is None else index_range(node.left, self.affine, self.extent)
        if divisor is None or known is None or known[0] < 0:
            return None
        scalars = self.lanes.arithmetic(INDEX, 0)
        text = unsigned_quotient(scalars, node.operation, left.text, known[1], divisor)
        return Value(text, INDEX)

    def decide(self, node: Scalar) -> bool | None:
        """The truth of a condition on indices where their ranges settle it, else None."""
        if not isinstance(node, Binary):
            return None
        if node.operation in ("and", "or"):
            sides = (self.decide(node.left), self.decide(node.right))
            settled = node.operation == "or"
            if settled in sides:
                return settled
            return None if None in sides else not settled
        if node.operation not in COMPARISONS or node.left.dtype != INDEX:
            return None
        form = self._difference(node)
        if form is None:
            return None
        low, high = form.bounds(self.extent)
        return decide_difference(node.operation, low, high)

    def _difference(self, node: Binary) -> Affine | None:
        """The left side less the right one; over axes it is found once for each comparison."""
        if node not in self._differences:
            self._differences[node] = _less(axis_affine(node.left), axis_affine(node.right))
        form = self._differences[node]
        known = None if form is None else form.substituted(self.environment)
        return _less(self.affine(node.left), self.affine(node.right)) if known is None else known


def _less(left: Affine | None, right: Affine | None) -> Affine | None:
    return None if left is None or right is None else left + right.scale(-1)
