"""Scalar expressions to LLVM values: indices as affine forms, loads, selects, arithmetic.

An expression is evaluated in an environment that gives each axis as an affine form over loop
variables and, inside a vector loop, the lane. What does not depend on the lane stays a scalar and
is spread over the lanes only where it meets a vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.index_quotients import (
    index_range,
    positive_divisor,
    unsigned_quotient,
)
from relay_tune.codegen.llvm_types import BYTES, is_float, memory_type, value_type
from relay_tune.codegen.operations import (
    binary_operation,
    cast_value,
    from_memory,
    unary_operation,
)
from relay_tune.codegen.pending_stores import PendingStores
from relay_tune.codegen.strided_loads import Lanes, StridedLoads
from relay_tune.tensor.affine import (
    Affine,
    Variable,
    axis_affine,
    constant,
    flat_form,
    split_quotient,
)
from relay_tune.tensor.expression import (
    COMPARISONS,
    INDEX,
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Scalar,
    Select,
    Tensor,
    Unary,
)
from relay_tune.tensor.index import decide_difference
from relay_tune.tensor.lane_rows import pieces
from relay_tune.tensor.loops import LaneReduce
from relay_tune.tensor.size import is_symbolic, surely_less
from relay_tune.tensor.walk import contains_load

LANE = "lane"
"""The variable of affine forms that stands for the lane of the vector loop."""


@dataclass(slots=True)
class VectorContext:
    """The vector loop around the current statement: lanes, how many of them count, their mask."""

    lanes: int = 0
    active: int = 0
    mask: str | None = None


@dataclass(slots=True)
class ValueWriter:
    """Evaluates expressions; statements change its environment.

    Attributes:
        writer: where instructions go.
        pointers: the base address of each buffer.
        environment: each axis in terms of loop variables and LANE.
        registers: the cells of register buffers: buffer -> offset -> value.
        versions: how often each buffer was written; a load is shared only within a version.
        unrolled: the axes that the unrolled loops around, in this block, step through by ones:
            axis -> how many steps come before and after.
        pending: stores that are held back.
    """

    writer: FunctionWriter
    pointers: dict[Tensor, str]
    environment: dict[Variable, Affine] = field(default_factory=dict)
    registers: dict[Tensor, dict[int, Value]] = field(default_factory=dict)
    versions: dict[Tensor, int] = field(default_factory=dict)
    vector: VectorContext = field(default_factory=VectorContext)
    unrolled: dict[Axis, tuple[int, int]] = field(default_factory=dict)
    pending: PendingStores = field(init=False)
    _strided: StridedLoads = field(init=False)
    _known: dict[Scalar, Value] = field(default_factory=dict)
    _arithmetic: dict[tuple[str, int], Arithmetic] = field(default_factory=dict)
    _forms: dict[tuple[Tensor, tuple[Scalar, ...]], Affine | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pending = PendingStores(self.writer, self.pointers)
        self._strided = StridedLoads(self.writer, self._load_contiguous)

    def evaluate(self, expression: Scalar) -> Value:
        """The value of an expression; shared sub-expressions are evaluated once."""
        self._known = {}
        return self.value(expression)

    def value(self, expression: Scalar) -> Value:
        """Like `evaluate`, within an evaluation."""
        known = self._known.get(expression)
        if known is None:
            known = self._value(expression)
            self._known[expression] = known
        return known

    def _value(self, expression: Scalar) -> Value:
        match expression:
            case Axis() | Binary(dtype="int64") if self.affine(expression) is not None:
                form = self.affine(expression)
                assert form is not None
                return self.affine_value(form)
            case Literal():
                arithmetic = self.arithmetic(expression.dtype, 0)
                return Value(arithmetic.number(expression.value), expression.dtype)
            case Load():
                return self._load(expression)
            case Unary():
                operand = self.value(expression.operand)
                arithmetic = self.arithmetic(operand.dtype, operand.lanes)
                text = unary_operation(arithmetic, expression.operation, operand.text)
                return Value(text, expression.dtype, operand.lanes)
            case Binary():
                return self._binary(expression)
            case Cast():
                operand = self.value(expression.operand)
                arithmetic = self.arithmetic(operand.dtype, operand.lanes)
                return cast_value(arithmetic, operand, expression.dtype)
            case Select():
                return self._select(expression)
            case LaneReduce():
                return self._lane_reduce(expression)
        raise TypeError(f"not a scalar expression: {type(expression).__name__}")

    def arithmetic(self, dtype: str, lanes: int) -> Arithmetic:
        """Instructions for values of a shape."""
        shape = (dtype, lanes)
        if shape not in self._arithmetic:
            self._arithmetic[shape] = Arithmetic(self.writer, dtype, lanes)
        return self._arithmetic[shape]

    # Indices ---------------------------------------------------------------------------------

    def affine(self, index: Scalar) -> Affine | None:
        """An index in terms of loop variables and LANE, or None if it is not affine."""
        match index:
            case Axis():
                return self.environment.get(index)
            case Binary(operation="floordiv" | "floormod", left=left, right=Literal(value=divisor)):
                form = self.affine(left)
                if form is None or not isinstance(divisor, int) or divisor <= 0:
                    return None
                parts = split_quotient(form, divisor, self.extent)
                return None if parts is None else parts[index.operation == "floormod"]
            case Binary(operation="add" | "sub", left=left, right=right):
                first, second = self.affine(left), self.affine(right)
                if first is None or second is None:
                    return None
                return first + second.scale(1 if index.operation == "add" else -1)
            case (
                Binary(operation="mul", left=left, right=Literal(value=factor))
                | Binary(operation="mul", left=Literal(value=factor), right=left)
            ):
                form = self.affine(left)
                if form is None or not isinstance(factor, int):
                    return None
                return form.scale(factor)
            case Literal():
                return axis_affine(index)
        return None

    def extent(self, variable: object) -> tuple[int, int]:
        """The range of a variable of affine forms."""
        if variable == LANE:
            is_open = is_symbolic(self.vector.active)
            return 0, max((self.vector.lanes if is_open else self.vector.active) - 1, 0)
        return self.writer.ranges.get(str(variable), (-(1 << 40), 1 << 40))

    def affine_value(self, form: Affine) -> Value:
        """An affine form as a 64-bit value: a vector if it depends on the lane."""
        lane = form.coefficient(LANE)
        total = Value(self.writer.size(form.constant), INDEX)
        scalars = self.arithmetic(INDEX, 0)
        for variable, factor in form.without(LANE).terms.items():
            scaled = (
                str(variable)
                if factor == 1
                else scalars.binary("mul", str(variable), self.writer.size(factor))
            )
            total = Value(
                scaled if total.text == "0" else scalars.binary("add", total.text, scaled), INDEX
            )
        if lane == 0:
            return total
        spread = self.spread(total)
        vectors = self.arithmetic(INDEX, self.vector.lanes)
        steps = self._lane_steps(lane, vectors)
        return Value(vectors.binary("add", spread.text, steps), INDEX, self.vector.lanes)

    def _lane_steps(self, stride: int, vectors: Arithmetic) -> str:
        """The vector of 0, stride, 2 * stride, .."""
        lanes = range(self.vector.lanes)
        if not is_symbolic(stride):
            return "<" + ", ".join(f"i64 {stride * lane}" for lane in lanes) + ">"
        numbers = "<" + ", ".join(f"i64 {lane}" for lane in lanes) + ">"
        return vectors.binary("mul", numbers, vectors.number(stride))

    def flat_offset(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | Value:
        """The element offset of an access in row-major order: affine, or a vector of offsets."""
        form = self._form(tensor, indices)
        known = None if form is None else form.substituted(self.environment)
        return self._summed_offset(tensor, indices) if known is None else known

    def _form(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | None:
        """The offset of an access over its axes if it is affine; found once for each access."""
        access = (tensor, indices)
        if access not in self._forms:
            self._forms[access] = flat_form(tensor.shape, indices)
        return self._forms[access]

    def _summed_offset(self, tensor: Tensor, indices: tuple[Scalar, ...]) -> Affine | Value:
        """The offset of an access some of whose indices are not affine over its axes."""
        total: Affine | Value = constant(0)
        stride = 1
        for index, extent in zip(reversed(indices), reversed(tensor.shape), strict=True):
            total = self._add_offsets(total, self._index(index), stride)
            stride *= extent
        return total

    def _index(self, index: Scalar) -> Affine | Value:
        form = self.affine(index)
        if form is not None:
            return form
        if isinstance(index, Binary) and index.operation in ("add", "sub") and index.dtype == INDEX:
            sign = 1 if index.operation == "add" else -1
            return self._add_offsets(self._index(index.left), self._index(index.right), sign)
        value = self.value(index)
        return value if value.lanes else Affine({value.text: 1})

    def _add_offsets(
        self, total: Affine | Value, more: Affine | Value, factor: int
    ) -> Affine | Value:
        if isinstance(total, Affine) and isinstance(more, Affine):
            return total + more.scale(factor)
        first = self.spread(self.affine_value(total) if isinstance(total, Affine) else total)
        second = self.spread(self.affine_value(more) if isinstance(more, Affine) else more)
        a = self.arithmetic(INDEX, self.vector.lanes)
        scaled = a.binary("mul", second.text, a.number(factor))
        return Value(a.binary("add", first.text, scaled), INDEX, self.vector.lanes)

    # Loads -----------------------------------------------------------------------------------

    def _load(self, load: Load) -> Value:
        tensor = load.tensor
        offset = self.flat_offset(tensor, load.indices)
        if tensor in self.registers:
            return self._register(tensor, offset)
        self.pending.flush(tensor)
        if isinstance(offset, Value):
            return self._gather(tensor, offset)
        lane = offset.coefficient(LANE)
        if lane == 0 and (self.vector.mask is None or self._is_inside(tensor, offset)):
            return self._load_contiguous(tensor, offset, 0)
        if lane == 0:  # the mask may be false everywhere
            return self._gather(tensor, self.spread(self.affine_value(offset)))
        if lane == 1:
            return self._load_vector(tensor, offset.without(LANE))
        return self._load_strided(load, offset.without(LANE), lane)

    def _is_inside(self, tensor: Tensor, offset: Affine) -> bool:
        """Whether an access is inside its tensor whatever the loop variables are."""
        low, high = offset.bounds(self.extent)
        return surely_less(-1, low) and surely_less(high, prod(tensor.shape))

    def _register(self, tensor: Tensor, offset: Affine | Value) -> Value:
        assert isinstance(offset, Affine) and offset.without(LANE).is_constant
        return self.registers[tensor][offset.constant]

    def _load_from(self, tensor: Tensor, pointer: str, lanes: int) -> Value:
        kind = memory_type(tensor.dtype, lanes)
        text = self.writer.pure(
            f"load {kind}, ptr {pointer}, align {BYTES[tensor.dtype]}",
            (tensor, self.versions.get(tensor, 0)),
        )
        arithmetic = self.arithmetic(tensor.dtype, lanes)
        return Value(from_memory(arithmetic, text, tensor.dtype), tensor.dtype, lanes)

    def _load_vector(self, tensor: Tensor, offset: Affine) -> Value:
        lanes = self.vector.lanes
        mask = self.current_mask()
        if mask is None:
            return self._load_contiguous(tensor, offset, lanes)
        pointer = self.writer.address(self.pointers[tensor], offset, BYTES[tensor.dtype])
        kind = memory_type(tensor.dtype, lanes)
        suffix = f"v{lanes}{_suffix(tensor.dtype)}.p0"
        self.writer.declarations.add(
            f"declare {kind} @llvm.masked.load.{suffix}(ptr, i32, <{lanes} x i1>, {kind})"
        )
        text = self.writer.pure(
            f"call {kind} @llvm.masked.load.{suffix}(ptr {pointer}, i32 {BYTES[tensor.dtype]}, "
            f"<{lanes} x i1> {mask}, {kind} zeroinitializer)",
            (tensor, self.versions.get(tensor, 0)),
        )
        arithmetic = self.arithmetic(tensor.dtype, lanes)
        return Value(from_memory(arithmetic, text, tensor.dtype), tensor.dtype, lanes)

    def _load_strided(self, load: Load, offset: Affine, stride: int) -> Value:
        """Lanes that are `stride` elements apart."""
        tensor, shape = load.tensor, Lanes(self.vector.lanes, self.vector.active, stride)
        if self.vector.mask is not None or is_symbolic(self.vector.active):
            return self._gather(tensor, self.affine_value(offset + Affine({LANE: stride})))
        if is_symbolic(stride) or is_symbolic(offset.constant):
            return self._strided.one_by_one(tensor, offset, shape)
        if shape.can_skip:
            return self._strided.skipping(tensor, offset, shape)
        row = self._row_around(load, offset + Affine({LANE: stride}))
        if row is None:
            return self._strided.one_by_one(tensor, offset, shape)
        return self._strided.column(tensor, offset.shift(-row[0]), shape, *row)

    def _row_around(self, load: Load, offset: Affine) -> tuple[int, int] | None:
        """(place, size) of a load in the row of neighbours that the unrolled loops load, too."""
        form = self._form(load.tensor, load.indices)
        for axis, (before, after) in self.unrolled.items():
            if form is None or form.coefficient(axis) != 1:
                continue
            row = pieces(before + 1 + after, self.vector.lanes)
            begin, size = next(part for part in row if before < sum(part))
            place = before - begin
            ends = (offset.shift(-place), offset.shift(size - 1 - place))
            if size > 1 and all(self._is_inside(load.tensor, end) for end in ends):
                return place, size
        return None

    def _load_contiguous(self, tensor: Tensor, offset: Affine, lanes: int) -> Value:
        pointer = self.writer.address(self.pointers[tensor], offset, BYTES[tensor.dtype])
        return self._load_from(tensor, pointer, lanes)

    def _gather(self, tensor: Tensor, offsets: Value) -> Value:
        lanes = self.vector.lanes
        kind = memory_type(tensor.dtype, lanes)
        size = BYTES[tensor.dtype]
        a = self.arithmetic(INDEX, lanes)
        scaled = a.binary("mul", self.spread(offsets).text, a.number(size))
        pointers = self.writer.pure(
            f"getelementptr i8, ptr {self.pointers[tensor]}, <{lanes} x i64> {scaled}"
        )
        mask = self.current_mask() or "splat (i1 true)"
        suffix = f"v{lanes}{_suffix(tensor.dtype)}.v{lanes}p0"
        self.writer.declarations.add(
            f"declare {kind} @llvm.masked.gather.{suffix}"
            f"(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})"
        )
        text = self.writer.pure(
            f"call {kind} @llvm.masked.gather.{suffix}(<{lanes} x ptr> {pointers}, i32 {size}, "
            f"<{lanes} x i1> {mask}, {kind} zeroinitializer)",
            (tensor, self.versions.get(tensor, 0)),
        )
        arithmetic = self.arithmetic(tensor.dtype, lanes)
        return Value(from_memory(arithmetic, text, tensor.dtype), tensor.dtype, lanes)

    def current_mask(self) -> str | None:
        """The mask of memory accesses, or None where all lanes count."""
        if self.vector.mask is not None:
            return self.vector.mask
        if self.vector.active == self.vector.lanes:
            return None
        if is_symbolic(self.vector.active):
            return self.writer.start_mask(self.vector.active, self.vector.lanes)
        bits = ", ".join(
            f"i1 {'true' if lane < self.vector.active else 'false'}"
            for lane in range(self.vector.lanes)
        )
        return f"<{bits}>"

    # Arithmetic ------------------------------------------------------------------------------

    def spread(self, value: Value) -> Value:
        """A scalar repeated over the lanes; a vector as it is."""
        lanes = self.vector.lanes
        if value.lanes or not lanes:
            return value
        kind = value_type(value.dtype, lanes)
        element = value_type(value.dtype)
        if not value.text.startswith("%"):
            return Value(f"splat ({element} {value.text})", value.dtype, lanes)
        first = self.writer.pure(f"insertelement {kind} poison, {element} {value.text}, i64 0")
        text = self.writer.pure(
            f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
        )
        return Value(text, value.dtype, lanes)

    def _together(self, *values: Value) -> tuple[int, list[str]]:
        """Values with the same lanes: vectors if any of them is one."""
        lanes = max(value.lanes for value in values)
        if lanes:
            return lanes, [self.spread(value).text for value in values]
        return 0, [value.text for value in values]

    def _binary(self, node: Binary) -> Value:
        fused = self._multiply_add(node)
        if fused is not None:
            return fused
        if node.operation in COMPARISONS:
            decided = self.decide(node)
            if decided is not None:
                return Value("true" if decided else "false", "bool")
        left = self.value(node.left)
        quotient = self._unsigned_quotient(node, left)
        if quotient is not None:
            return quotient
        right = self.value(node.right)
        lanes, (x, y) = self._together(left, right)
        text = binary_operation(self.arithmetic(left.dtype, lanes), node.operation, x, y)
        return Value(text, node.dtype, lanes)

    def _unsigned_quotient(self, node: Binary, left: Value) -> Value | None:
        """A quotient or remainder of an index that is known not to be negative."""
        divisor = positive_divisor(node) if node.dtype == INDEX and not left.lanes else None
        known = None if divisor is None else index_range(node.left, self.affine, self.extent)
        if divisor is None or known is None or known[0] < 0:
            return None
        scalars = self.arithmetic(INDEX, 0)
        text = unsigned_quotient(scalars, node.operation, left.text, known[1], divisor)
        return Value(text, INDEX)

    def _multiply_add(self, node: Binary) -> Value | None:
        """a * b + c in one instruction, for floats."""
        if node.operation != "add" or not is_float(node.dtype):
            return None
        for product, addend in ((node.right, node.left), (node.left, node.right)):
            if isinstance(product, Binary) and product.operation == "mul":
                values = [self.value(e) for e in (product.left, product.right, addend)]
                lanes, (x, y, z) = self._together(*values)
                text = self.arithmetic(node.dtype, lanes).multiply_add(x, y, z)
                return Value(text, node.dtype, lanes)
        return None

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
        left, right = self.affine(node.left), self.affine(node.right)
        if left is None or right is None:
            return None
        low, high = (left + right.scale(-1)).bounds(self.extent)
        return decide_difference(node.operation, low, high)

    def _select(self, node: Select) -> Value:
        decided = self.decide(node.condition)
        if decided is not None:
            return self.value(node.if_true if decided else node.if_false)
        condition = self.value(node.condition)
        if condition.text in ("true", "false"):
            return self.value(node.if_true if condition.text == "true" else node.if_false)
        if not (contains_load(node.if_true) or contains_load(node.if_false)):
            return self._choose(condition, self.value(node.if_true), self.value(node.if_false))
        if condition.lanes:
            return self._select_masked(node, condition)
        return self._select_branching(node, condition)

    def _choose(self, condition: Value, if_true: Value, if_false: Value) -> Value:
        lanes, (c, x, y) = self._together(condition, if_true, if_false)
        return Value(self.arithmetic(if_true.dtype, lanes).select(c, x, y), if_true.dtype, lanes)

    def _select_masked(self, node: Select, condition: Value) -> Value:
        """Both sides, each loading only in its own lanes."""
        bools = self.arithmetic("bool", self.vector.lanes)
        inverse = bools.binary("xor", condition.text, bools.number(True))
        if_true = self._value_under(condition.text, node.if_true)
        if_false = self._value_under(inverse, node.if_false)
        return self._choose(condition, if_true, if_false)

    def _value_under(self, mask: str, expression: Scalar) -> Value:
        outer = self.vector.mask
        current = self.current_mask()
        bools = self.arithmetic("bool", self.vector.lanes)
        self.vector.mask = mask if current is None else bools.binary("and", current, mask)
        known = self._known
        self._known = dict(known)
        value = self.value(expression)
        self._known = known
        self.vector.mask = outer
        return value

    def _select_branching(self, node: Select, condition: Value) -> Value:
        """Jump over the loads of the side that is not taken."""
        w = self.writer
        self.pending.flush()
        number = w.fresh("select").removeprefix("%")
        w.line(f"br i1 {condition.text}, label %{number}.true, label %{number}.false")
        sides: list[tuple[Value, str]] = []
        for label, expression in (("true", node.if_true), ("false", node.if_false)):
            w.start_block(f"{number}.{label}")
            known = self._known
            self._known = dict(known)
            w.push_scope()
            value = self.value(expression)
            if self.vector.lanes:
                value = self.spread(value)
            w.pop_scope()
            self._known = known
            sides.append((value, w.block))
            w.line(f"br label %{number}.end")
        w.start_block(f"{number}.end")
        incoming = ", ".join(f"[ {value.text}, %{block} ]" for value, block in sides)
        result = w.fresh()
        w.line(f"{result} = phi {sides[0][0].llvm_type} {incoming}")
        return Value(result, node.dtype, sides[0][0].lanes)

    def _lane_reduce(self, node: LaneReduce) -> Value:
        """The reduction of an operand over the lanes of a vector axis of its own."""
        outer_vector, outer_known = self.vector, self._known
        self.vector, self._known = VectorContext(node.axis.extent, node.axis.extent), {}
        self.environment[node.axis] = Affine({LANE: 1})
        operand = self.spread(self.value(node.operand))
        self.vector, self._known = outer_vector, outer_known
        return Value(self._reduce_lanes(node.operation, operand), node.dtype)

    def _reduce_lanes(self, operation: str, operand: Value) -> str:
        """A logarithmic tree of shuffles; the last step leaves the result in lane 0."""
        width, text = operand.lanes, operand.text
        a = self.arithmetic(operand.dtype, operand.lanes)
        kind = operand.llvm_type
        while width > 1:
            width //= 2
            order = ", ".join(
                f"i32 {lane + width if lane < width else 0}" for lane in range(operand.lanes)
            )
            moved = self.writer.pure(
                f"shufflevector {kind} {text}, {kind} poison, <{operand.lanes} x i32> <{order}>"
            )
            text = binary_operation(a, REDUCTION_STEPS[operation], moved, text)
        return self.writer.pure(f"extractelement {kind} {text}, i64 0")


REDUCTION_STEPS: Mapping[str, str] = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
"""The binary operation of each reduction."""


def _suffix(dtype: str) -> str:
    return {"float": "f32", "double": "f64", "half": "f16"}.get(
        memory_type(dtype), memory_type(dtype)
    )
