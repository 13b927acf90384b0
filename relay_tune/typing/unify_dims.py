"""Making dimensions equal.

A symbol of the program stands for one size that its function does not know, so it equals itself
only. At a call of a function that is polymorphic in its shapes, its symbols are replaced by fresh
*flexible* symbols, which unification binds. An equation in which a flexible symbol stands inside
of a polynomial waits until the symbol is bound; if nothing else binds it, it is solved.
"""

from __future__ import annotations

from relay_tune.ir.dim import UNKNOWN, Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import substitute, subtract
from relay_tune.typing.type_terms import dim_symbols, substitute_shape


class DimUnifier:
    """The sizes of flexible symbols, and the equations that wait for them."""

    def __init__(self) -> None:
        self._count = 0
        self._flexible: dict[Symbol, Dim | None] = {}
        self._waiting: list[tuple[Dim, Dim]] = []

    def fresh(self, name: str) -> Symbol:
        """A new flexible symbol; `name` is for messages."""
        self._count += 1
        symbol = Symbol(f"{name}'{self._count}")
        self._flexible[symbol] = None
        return symbol

    @property
    def is_idle(self) -> bool:
        """Whether no symbol was ever flexible, so that shapes are what they seem."""
        return not self._flexible

    def readable(self, dim: Dim) -> str:
        """A dimension for messages, with flexible symbols called what they replace."""
        names = {s.name: Symbol(s.name.rpartition("'")[0]) for s in self._free_symbols(dim)}
        return str(substitute(dim, names))

    def resolve(self, dim: Dim) -> Dim:
        """`dim` with bound symbols replaced by their sizes."""
        if isinstance(dim, int | UnknownDim) or not self._flexible:
            return dim
        while True:
            bound = {symbol.name: self._flexible.get(symbol) for symbol in dim_symbols(dim)}
            mapping = {name: size for name, size in bound.items() if size is not None}
            if not mapping:
                return dim
            dim = substitute(dim, mapping)

    def resolve_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """A shape with bound symbols replaced by their sizes."""
        return tuple(dim if isinstance(dim, int) else self.resolve(dim) for dim in shape)

    def unify(self, left: Dim, right: Dim) -> Dim | None:
        """The size that stands for both (`?` beside anything is `?`), or None on a conflict."""
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return left
        if self._is_free(left):
            return self._bind(left, right)
        if self._is_free(right):
            return self._bind(right, left)
        if isinstance(left, UnknownDim) or isinstance(right, UnknownDim):
            return UNKNOWN
        if self._free_symbols(left) or self._free_symbols(right):
            self._waiting.append((left, right))
            return left
        return None

    def settle(self) -> tuple[Dim, Dim] | None:
        """Look again at the equations that wait; the two sides of one that has no solution."""
        waiting, self._waiting = self._waiting, []
        for left, right in waiting:
            if self.unify(left, right) is None:
                return self.resolve(left), self.resolve(right)
        for left, right in self._waiting:
            if not self._solve_linear(subtract(self.resolve(left), self.resolve(right))):
                return left, right
        self._waiting = []
        return None

    def settled_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """A shape at the end of inference: a flexible symbol that nothing bound is `?`."""
        resolved = self.resolve_shape(shape)
        free = {s.name for dim in resolved for s in dim_symbols(dim) if self._is_free(s)}
        return substitute_shape(resolved, dict.fromkeys(free, UNKNOWN)) if free else resolved

    def _is_free(self, dim: Dim) -> bool:
        return isinstance(dim, Symbol) and dim in self._flexible and self._flexible[dim] is None

    def _free_symbols(self, dim: Dim) -> set[Symbol]:
        return {symbol for symbol in dim_symbols(dim) if self._is_free(symbol)}

    def _bind(self, symbol: Dim, size: Dim) -> Dim | None:
        if not isinstance(symbol, Symbol) or symbol in dim_symbols(size):
            return None
        self._flexible[symbol] = size
        return size

    def _solve_linear(self, difference: Dim) -> bool:
        """Bind the one flexible symbol of factor * symbol + constant = 0, if it has a solution."""
        if isinstance(difference, int | UnknownDim):
            return difference == 0 or isinstance(difference, UnknownDim)
        terms = dict(difference.terms) if isinstance(difference, Polynomial) else {}
        constant = terms.pop((), 0)
        if len(terms) != 1:
            return True
        ((product, factor),) = terms.items()
        symbol = product[0]
        if len(product) != 1 or not isinstance(symbol, Symbol) or not self._is_free(symbol):
            return True
        if constant % factor or -constant // factor < 0:
            return False
        self._flexible[symbol] = -constant // factor
        return True
