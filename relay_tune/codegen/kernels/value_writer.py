"""Scalar expressions to LLVM values: loads, arithmetic, selects, reductions over lanes.

An expression is evaluated in an environment that gives each axis as an affine form over loop
variables and, inside a vector loop, the lane. What does not depend on the lane stays a scalar and
is spread over the lanes only where it meets a vector.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.casts import cast_value, reinterpret_value
from relay_tune.codegen.kernels.dot_products import dot_product
from relay_tune.codegen.kernels.float_lookups import looked_up, lookup_of
from relay_tune.codegen.kernels.index_writer import IndexWriter
from relay_tune.codegen.kernels.load_writer import LoadWriter
from relay_tune.codegen.kernels.operations import binary_operation, unary_operation
from relay_tune.codegen.kernels.reduce_lanes import reduce_lanes, reduce_rows
from relay_tune.codegen.kernels.shared_values import SharedValues
from relay_tune.codegen.kernels.vector_lanes import LANE, VectorContext, VectorLanes
from relay_tune.codegen.kernels.words import put_together
from relay_tune.codegen.llvm_types import is_float
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.bit_fields import signed_field
from relay_tune.tensor.expression import (
    COMPARISONS,
    DOT_PRODUCTS,
    INDEX,
    PRODUCTS,
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reinterpret,
    Scalar,
    Select,
    Tensor,
    Unary,
    Word,
)
from relay_tune.tensor.limited_values import limits_of
from relay_tune.tensor.loops import LaneReduce
from relay_tune.tensor.walk import loads


class ValueWriter:
    """Evaluates expressions; statements change its environment.

    Attributes:
        writer: where instructions go.
        lanes: the vector loop around.
        indices: indices and the environment of axes.
        loads: buffers, and what is known to be in them.
    """

    def __init__(self, writer: FunctionWriter, pointers: dict[Tensor, str]) -> None:
        """A writer of values; `pointers` are the base addresses of buffers."""
        self.writer = writer
        self.lanes = VectorLanes(writer)
        self.indices = IndexWriter(self.lanes, self.value)
        self.loads = LoadWriter(self.lanes, self.indices, pointers)
        self._shared = SharedValues(self.lanes, self.indices, self.loads)
        self._known: dict[Scalar, Value] = {}
        self._loads_of: dict[Scalar, tuple[Load, ...]] = {}

    def end(self) -> None:
        """Let go of the writers of indices and loads, which know this one."""
        self.loads.end()
        vars(self).clear()

    def evaluate(self, expression: Scalar) -> Value:
        """The value of an expression; shared sub-expressions are evaluated once."""
        self._known = {}
        return self.value(expression)

    def value(self, expression: Scalar) -> Value:
        """Like `evaluate`, within an evaluation."""
        known = self._known.get(expression)
        if known is None:
            key = self._shared.key(expression)
            if key is None:
                known = self._value(expression)
            else:
                known = self.writer.once(key, lambda: self._value(expression))
            self._known[expression] = known
        return known

    def _value(self, expression: Scalar) -> Value:
        if isinstance(expression, Axis | Binary) and expression.dtype == INDEX:
            form = self.indices.affine(expression)
            if form is not None:
                return self.indices.affine_value(form)
        match expression:
            case Literal():
                arithmetic = self.lanes.arithmetic(expression.dtype, 0)
                return Value(arithmetic.number(expression.value), expression.dtype)
            case Load():
                return self.loads.load(expression)
            case Unary():
                operand = self.value(expression.operand)
                arithmetic = self.lanes.arithmetic(operand.dtype, operand.lanes)
                text = unary_operation(arithmetic, expression.operation, operand.text)
                return Value(text, expression.dtype, operand.lanes)
            case Binary():
                return self._binary(expression)
            case Cast():
                short = self._looked_up(expression)
                if short is not None:
                    return short
                operand = self.value(expression.operand)
                arithmetic = self.lanes.arithmetic(operand.dtype, operand.lanes)
                return cast_value(
                    arithmetic, operand, expression.dtype, limits_of(expression.operand)
                )
            case Reinterpret():
                operand = self.value(expression.operand)
                arithmetic = self.lanes.arithmetic(operand.dtype, operand.lanes)
                return reinterpret_value(arithmetic, operand, expression.dtype)
            case Word():
                whole = self.loads.load_word(expression)
                if whole is not None:
                    return whole
                lanes, texts = self.lanes.together(*map(self.value, expression.elements))
                narrow = self.lanes.arithmetic(expression.elements[0].dtype, lanes)
                return Value(put_together(narrow, texts), expression.dtype, lanes)
            case Select():
                return self._select(expression)
            case LaneReduce():
                return self._lane_reduce(expression)
        raise TypeError(f"not a scalar expression: {type(expression).__name__}")

    def _looked_up(self, node: Cast) -> Value | None:
        """The float of a few bits of a word by one instruction; None where there is none."""
        field = signed_field(node) if "float32" in self.writer.lookups else None
        if field is None:
            return None
        up, word = self._integer(field.up), self.value(field.word)
        arithmetic = self.lanes.arithmetic(word.dtype, word.lanes)
        found = lookup_of(arithmetic, field, up)
        if found is None or up is None:
            return None
        return Value(looked_up(arithmetic, found, field, word.text, up), node.dtype, word.lanes)

    def _integer(self, node: Scalar) -> int | None:
        """The value of an integer that is known when code is written."""
        match node:
            case Literal():
                return int(node.value)
            case Cast() if node.operand.dtype == INDEX:
                form = self.indices.affine(node.operand)
                return form.constant if form is not None and form.is_constant else None
            case Binary(operation="sub" | "mul"):
                left, right = self._integer(node.left), self._integer(node.right)
                if left is None or right is None:
                    return None
                return left - right if node.operation == "sub" else left * right
        return None

    def _binary(self, node: Binary) -> Value:
        fused = self._multiply_add(node)
        if fused is not None:
            return fused
        if node.operation in COMPARISONS:
            decided = self.indices.decide(node)
            if decided is not None:
                return Value("true" if decided else "false", "bool")
        left = self.value(node.left)
        quotient = self.indices.unsigned_quotient(node, left)
        if quotient is not None:
            return quotient
        right = self.value(node.right)
        lanes, (x, y) = self.lanes.together(left, right)
        text = binary_operation(self.lanes.arithmetic(left.dtype, lanes), node.operation, x, y)
        return Value(text, node.dtype, lanes)

    def _multiply_add(self, node: Binary) -> Value | None:
        """a * b + c in one instruction, for floats and for dot products of words."""
        if node.operation != "add":
            return None
        fused = PRODUCTS if is_float(node.dtype) else DOT_PRODUCTS
        for product, addend in ((node.right, node.left), (node.left, node.right)):
            if isinstance(product, Binary) and product.operation in fused:
                values = [self.value(e) for e in (product.left, product.right, addend)]
                lanes, (x, y, z) = self.lanes.together(*values)
                a = self.lanes.arithmetic(node.dtype, lanes)
                if product.operation == "mul":
                    return Value(a.multiply_add(x, y, z), node.dtype, lanes)
                return Value(dot_product(a, product.operation, x, y, z), node.dtype, lanes)
        return None

    def _select(self, node: Select) -> Value:
        decided = self.indices.decide(node.condition)
        if decided is not None:
            return self.value(node.if_true if decided else node.if_false)
        condition = self.value(node.condition)
        if condition.text in ("true", "false"):
            return self.value(node.if_true if condition.text == "true" else node.if_false)
        if not self._loads(node):
            return self._choose(condition, self.value(node.if_true), self.value(node.if_false))
        if condition.lanes:
            return self._select_masked(node, condition)
        return self._select_branching(node, condition)

    def _loads(self, node: Select) -> bool:
        """Whether a side loads what the condition, or anything else before it, has not loaded."""
        if node not in self._loads_of:  # found once for all the copies of an unrolled loop
            self._loads_of[node] = (*loads(node.if_true), *loads(node.if_false))
        return any(each not in self._known for each in self._loads_of[node])

    def _choose(self, condition: Value, if_true: Value, if_false: Value) -> Value:
        lanes, (c, x, y) = self.lanes.together(condition, if_true, if_false)
        return Value(
            self.lanes.arithmetic(if_true.dtype, lanes).select(c, x, y), if_true.dtype, lanes
        )

    def _select_masked(self, node: Select, condition: Value) -> Value:
        """Both sides, each loading only in its own lanes."""
        bools = self.lanes.arithmetic("bool", self.lanes.vector.lanes)
        inverse = bools.binary("xor", condition.text, bools.number(True))
        if_true = self._value_under(condition.text, node.if_true)
        if_false = self._value_under(inverse, node.if_false)
        return self._choose(condition, if_true, if_false)

    def _value_under(self, mask: str, expression: Scalar) -> Value:
        outer = self.lanes.vector.mask
        current = self.lanes.mask()
        bools = self.lanes.arithmetic("bool", self.lanes.vector.lanes)
        self.lanes.vector.mask = mask if current is None else bools.binary("and", current, mask)
        known = self._known
        self._known = dict(known)
        value = self.value(expression)
        self._known = known
        self.lanes.vector.mask = outer
        return value

    def _select_branching(self, node: Select, condition: Value) -> Value:
        """Jump over the loads of the side that is not taken."""
        w = self.writer
        self.loads.pending.flush()
        sides: list[tuple[Value, str]] = []
        for side in w.sides(condition.text, "select", "true", "false"):
            known = self._known
            self._known = dict(known)
            value = self.value(node.if_true if side == "true" else node.if_false)
            if self.lanes.vector.lanes:
                value = self.lanes.spread(value)
            self._known = known
            sides.append((value, w.block))
        incoming = ", ".join(f"[ {value.text}, %{block} ]" for value, block in sides)
        result = w.fresh()
        w.line(f"{result} = phi {sides[0][0].llvm_type} {incoming}")
        return Value(result, node.dtype, sides[0][0].lanes)

    def _lane_reduce(self, node: LaneReduce) -> Value:
        """The reduction of operands over the lanes of a vector axis of their own."""
        outer_vector, outer_known = self.lanes.vector, self._known
        self.lanes.vector, self._known = VectorContext(node.axis.extent, node.axis.extent), {}
        self.indices.environment[node.axis] = Affine({LANE: 1})
        rows = [self.lanes.spread(self.value(row)) for row in node.rows]
        self.lanes.vector, self._known = outer_vector, outer_known
        arithmetic = self.lanes.arithmetic(node.dtype, node.axis.extent)
        texts = [row.text for row in rows]
        if outer_vector.lanes:
            found = reduce_rows(arithmetic, node.operation, texts, outer_vector.lanes)
            return Value(found, node.dtype, outer_vector.lanes)
        return Value(reduce_lanes(arithmetic, node.operation, texts[0]), node.dtype)
