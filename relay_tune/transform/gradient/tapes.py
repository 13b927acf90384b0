"""The types of tapes: what forward code leaves for the backward code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Constructor, Function, Var
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import UNIT, GlobalTypeVar, TensorType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.names import Names, title
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.type_terms import map_leaves


@dataclass
class Tapes:
    """Makes types of tapes.

    A function's tape has a name before it is known what it holds, since the function may call
    itself; in the end the name is replaced.
    """

    names: Names
    types: dict[str, TypeData] = field(default_factory=dict)
    _defined: dict[Type, Type] = field(default_factory=dict)

    def new_type(self, function: str) -> Type:
        """A name for the type of a function's tape."""
        return GlobalTypeVar(f"tape of @{function}")

    def define(self, name: Type, type_: Type) -> None:
        """Record the type of a function's tape."""
        self._defined[name] = type_

    def branches(
        self, function: str, titles: Sequence[str], saved: Sequence[Sequence[Type]]
    ) -> list[Constructor]:
        """The constructors of the tape of branches that save values of some types."""
        header = GlobalTypeVar(self.names.new(title(function, "tape")))
        constructors = [
            Constructor(
                self.names.new(title(function, name)), tuple(map(open_sizes, types)), header, tag
            )
            for tag, (name, types) in enumerate(zip(titles, saved, strict=True))
        ]
        self.types[header.name] = TypeData(header, (), tuple(constructors))
        return constructors

    def known(self, type_: Type) -> Type:
        """A type without names of functions' tapes."""
        return self._known(type_, ())

    def definitions(self) -> dict[str, TypeData]:
        """The data types of branches' tapes."""
        return {name: self._definition(data) for name, data in self.types.items()}

    def function(self, function: Function) -> Function:
        """A function whose parameters may be tapes."""
        if not any(self._is_open(param) for param in function.params):
            return function
        new = {param: self._param(param) for param in function.params}
        body = rewrite(
            function.body, lambda node: new.get(node, node) if isinstance(node, Var) else node
        )
        return replace(with_body(function, body), params=tuple(new.values()))

    def _is_open(self, param: Var) -> bool:
        return param.annotation is not None and self.known(param.annotation) != param.annotation

    def _param(self, param: Var) -> Var:
        if param.annotation is None:
            return param
        type_ = self.known(param.annotation)
        return replace(param, annotation=type_, type=type_)

    def _definition(self, data: TypeData) -> TypeData:
        return data.with_fields(self.known)

    def _known(self, type_: Type, inside: tuple[Type, ...]) -> Type:
        def leaf(part: Type) -> Type:
            if part in inside:
                return UNIT  # a function that calls itself whatever happens
            found = self._defined.get(part)
            if found is None:
                return part
            # Names of sizes are those of the function, of which there may be several calls here.
            return open_sizes(self._known(found, (*inside, part)))

        return map_leaves(type_, leaf)


def open_sizes(type_: Type) -> Type:
    """A type of which no size has a name, as that of a field or of a call of another function."""

    def leaf(part: Type) -> Type:
        if not isinstance(part, TensorType):
            return part
        dims = (dim if isinstance(dim, int) else UNKNOWN for dim in part.shape)
        return TensorType(tuple(dims), part.dtype)

    return map_leaves(type_, leaf)
