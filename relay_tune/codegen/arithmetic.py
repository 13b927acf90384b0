"""LLVM instructions on scalars and vectors alike, for one element type and lane count."""

from __future__ import annotations

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.llvm_types import VALUE_TYPES, intrinsic_suffix, literal_text, value_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.size import is_symbolic


@dataclass(frozen=True, slots=True)
class Value:
    """A value in registers: its LLVM text, element type, and lanes (0 is a scalar)."""

    text: str
    dtype: str
    lanes: int = 0

    @property
    def llvm_type(self) -> str:
        """The LLVM type."""
        return value_type(self.dtype, self.lanes)


class Arithmetic:
    """Writes instructions whose operands and result are values of this shape.

    Operands and results are LLVM texts; `lanes` 0 is a scalar.
    """

    def __init__(self, writer: FunctionWriter, dtype: str, lanes: int) -> None:
        self.writer = writer
        self.dtype = dtype
        self.lanes = lanes
        self.type = value_type(dtype, lanes)
        self.suffix = intrinsic_suffix(VALUE_TYPES[dtype], lanes)

    def number(self, value: float | int | bool) -> str:
        """A constant, or a size."""
        if not is_symbolic(value):
            return literal_text(value, self.dtype, self.lanes)
        text = self._resized(self.writer.size(value))
        return self.writer.spread(value_type(self.dtype), text, self.lanes) if self.lanes else text

    def _resized(self, size: str) -> str:
        """A size, of type i64, as a scalar of this element type."""
        element = value_type(self.dtype)
        if element == "i64":
            return size
        if element == "i1":
            return self.writer.pure(f"icmp ne i64 {size}, 0")
        instruction = "trunc" if element.startswith("i") else "sitofp"
        return self.writer.pure(f"{instruction} i64 {size} to {element}")

    def binary(self, instruction: str, left: str, right: str) -> str:
        """`instruction` such as `fadd` on two operands."""
        return self.writer.pure(f"{instruction} {self.type} {left}, {right}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """`llvm.name` on operands of this type."""
        arguments = ", ".join(f"{self.type} {operand}" for operand in operands)
        types = ", ".join([self.type] * len(operands))
        return self.writer.call(self.type, f"llvm.{name}.{self.suffix}", arguments, types)

    def multiply_add(self, left: str, right: str, addend: str) -> str:
        """left * right + addend, fused where the machine can."""
        return self.intrinsic("fmuladd", left, right, addend)

    def polynomial(self, x: str, *coefficients: float) -> str:
        """Estrin's scheme; coefficients from the highest power to the constant.

        Pairs of neighbours are combined, then pairs of pairs. Horner's rule takes fewer products,
        but each waits for the one before: processors cannot look far enough ahead to do other
        vectors meanwhile (measured in the epilogue of a product: 16 cycles a vector for
        x * sigmoid(x), 10 so). Estrin, "Organization of computer systems: the fixed plus variable
        structure computer" (1960).
        """
        terms = [self.number(coefficient) for coefficient in reversed(coefficients)]
        power = x
        while len(terms) > 1:
            pairs = zip(terms[1::2], terms[::2], strict=False)
            odd = terms[-1:] if len(terms) % 2 else []
            terms = [self.multiply_add(high, power, low) for high, low in pairs] + odd
            power = self.binary("fmul", power, power) if len(terms) > 1 else power
        return terms[0]

    def compare(self, predicate: str, left: str, right: str) -> str:
        """`fcmp`/`icmp` with a predicate; gives an i1 (vector)."""
        instruction = "fcmp" if self.dtype.startswith(("float", "bfloat")) else "icmp"
        return self.writer.pure(f"{instruction} {predicate} {self.type} {left}, {right}")

    def at_least(self, x: str, bound: float) -> str:
        """The larger of x and a number; NaN stays NaN."""
        return self.select(self.compare("olt", x, self.number(bound)), self.number(bound), x)

    def at_most(self, x: str, bound: float) -> str:
        """The smaller of x and a number; NaN stays NaN."""
        return self.select(self.compare("ogt", x, self.number(bound)), self.number(bound), x)

    def select(self, condition: str, if_true: str, if_false: str) -> str:
        """`if_true` where `condition`."""
        mask = value_type("bool", self.lanes)
        return self.writer.pure(
            f"select {mask} {condition}, {self.type} {if_true}, {self.type} {if_false}"
        )

    def convert(self, instruction: str, operand: str, to: str) -> str:
        """A conversion instruction such as `sitofp` to the value type of dtype `to`."""
        target = value_type(to, self.lanes)
        return self.writer.pure(f"{instruction} {self.type} {operand} to {target}")

    def at_lanes(self, lanes: int) -> Arithmetic:
        """The same element type in another number of lanes."""
        return Arithmetic(self.writer, self.dtype, lanes)

    def of(self, dtype: str) -> Arithmetic:
        """The same lanes with another element type."""
        return Arithmetic(self.writer, dtype, self.lanes)
