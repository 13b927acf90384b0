"""Collections of rows as values of a data type, and the functions that sum them.

    type Rows {
      NoRows,
      TermRows(Tensor[(1, 4), float32], Tensor[(1, 8), float32], Rows),
      BothRows(Rows, Rows),
    }

The terms of a sum are put into an object each; adding two sums is one object more. That is a rope:
H. Boehm, R. Atkinson and M. Plass, "Ropes: an alternative to strings" (Software: Practice and
Experience, 1995). At the end all rows are written behind each other, in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Constructor, Expr, Function
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import GlobalTypeVar, TensorType, TupleType, Type
from relay_tune.op_rules.typed import call
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.names import Names, title
from relay_tune.transform.gradient.typed_nodes import (
    constructed,
    fields_pattern,
    function_call,
    let_block,
    matched,
    packed,
    parameter,
    tuple_of,
    type_of,
    unpacked,
    variable,
)
from relay_tune.transform.row_sums.flow import Form


@dataclass(frozen=True, eq=False)
class Rope:
    """A data type of collections of rows.

    Attributes:
        form: what a tensor is the sum of.
        definition: the data type.
        collect, total: the names of the function that writes all rows behind others, and of the
            one that computes the sum.
    """

    form: Form
    definition: TypeData
    collect: str
    total: str

    @staticmethod
    def of(form: Form, names: Names) -> Rope:
        """A new data type for sums of a form."""
        name = form[0].name
        header = GlobalTypeVar(names.new(title(name, "rows")))
        fields: Sequence[tuple[str, tuple[Type, ...]]] = (
            ("no", ()),
            ("term", (*form[1], header)),
            ("both", (header, header)),
        )
        constructors = tuple(
            Constructor(names.new(title(kind, name, "rows")), inputs, header, tag)
            for tag, (kind, inputs) in enumerate(fields)
        )
        definition = TypeData(header, (), constructors)
        return Rope(form, definition, names.new(f"{name}_rows"), names.new(f"{name}_of_rows"))

    @property
    def type(self) -> Type:
        """The type of its values."""
        return self.definition.header

    def none(self) -> Expr:
        """No rows: zeros."""
        return self._made(0)

    def term(self, rows: Sequence[Expr]) -> Expr:
        """The rows of one term."""
        return self._made(1, *rows, self.none())

    def sum(self, left: Expr, right: Expr) -> Expr:
        """The rows of both."""
        for one, other in ((left, right), (right, left)):
            if self._is_made(one, 0):
                return other
            if self._is_made(one, 1) and isinstance(one, Call):
                *rows, rest = one.arguments
                if self._is_made(rest, 0):
                    return self._made(1, *rows, other)
        return self._made(2, left, right)

    def tensor(self, rope: Expr) -> Expr:
        """The sum as a tensor."""
        return function_call(self.total, (rope,), self.form[2])

    def functions(self) -> dict[str, Function]:
        """The functions that sum."""
        return {self.collect: self._collecting(), self.total: self._totalling()}

    def _made(self, index: int, *fields: Expr) -> Expr:
        return constructed(self.definition.constructors[index], fields, self.type)

    def _is_made(self, expr: Expr, index: int) -> bool:
        return isinstance(expr, Call) and expr.callee is self.definition.constructors[index]

    def _collected(self, rope: Expr, before: Sequence[Expr]) -> Expr:
        types = self._whole_types()
        result = types[0] if len(types) == 1 else TupleType(tuple(types))
        return function_call(self.collect, (rope, *before), result)

    def _whole_types(self) -> list[TensorType]:
        """The types of all rows of each matrix."""
        return [TensorType((UNKNOWN, *each.shape[1:]), each.dtype) for each in self.form[1]]

    def _collecting(self) -> Function:
        """Matrices with the rows of a collection behind them, and those of its parts in order."""
        types = self._whole_types()
        rope = parameter("rows", self.type)
        before = [parameter(f"before{index}", type_) for index, type_ in enumerate(types)]
        none, term, both = self.definition.constructors
        new = [variable(f"row{index}", type_) for index, type_ in enumerate(self.form[1])]
        more = [variable(f"more{index}", type_) for index, type_ in enumerate(types)]
        appended = [_appended(one, other) for one, other in zip(before, new, strict=True)]
        rest, left, right = (variable(name, self.type) for name in ("rest", "left", "right"))
        first = self._collected(left, before)
        known = variable("known", type_of(first))
        body = matched(
            rope,
            [
                (fields_pattern(none, []), packed(before)),
                (
                    fields_pattern(term, [*new, rest]),
                    let_block(list(zip(more, appended, strict=True)), self._collected(rest, more)),
                ),
                (
                    fields_pattern(both, [left, right]),
                    let_block(
                        [(known, first)], self._collected(right, unpacked(known, len(types)))
                    ),
                ),
            ],
        )
        return Function((rope, *before), body, first.type)

    def _totalling(self) -> Function:
        rope = parameter("rows", self.type)
        types = self._whole_types()
        empty = [call("zeros", shape=(0, *t.shape[1:]), dtype=t.dtype) for t in types]
        collected = self._collected(rope, empty)
        known = variable("known", type_of(collected))
        total = self.form[0].of(unpacked(known, len(types)), self.form[2])
        return Function((rope,), let_block([(known, collected)], total))


def _appended(before: Expr, rows: Expr) -> Expr:
    """Rows behind others."""
    return call("concatenate", tuple_of((before, rows)), axis=0)
