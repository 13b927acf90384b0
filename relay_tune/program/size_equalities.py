"""Which sizes of a primitive's inputs must be equal where types do not tell.

    fn (%a: Tensor[(n, 8, m), float32], %b: Tensor[(?, ?, 8), float32]) {
        add(transpose(%a, axes=(0, 2, 1)), %b)
    }
    the sizes are    n, m, ?0 and ?1
    add asks for     ?1 = m, then ?0 = n

Where a type relation refuses two sizes because they differ, an equation for one of them makes them
equal. So every equation is one that an operator needs, and the primitive checks it when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay_tune.ir.dim import Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import is_sum_of_sizes, multiply, subtract, symbol_names
from relay_tune.ir.dim_quotient import exact_quotient

Equal = Mapping[str, Dim]
"""Equal sizes, by name."""


def unknown_name(number: int) -> str:
    """The name of a `?`, which are numbered through the types of the inputs."""
    return f"?{number}"


def is_unknown_name(name: str) -> bool:
    """Whether a name is that of a `?`."""
    return name.startswith("?")


def equation(left: Dim, right: Dim, names: Sequence[str]) -> tuple[str, Dim] | None:
    """One of some symbols and what it is if two sizes are equal; None if that does not say it.

    The first of `names` is replaced, but by a difference of sizes only if nothing else can be.
    """
    solutions = dict(_solutions(left, right))
    found = [name for name in names if name in solutions]
    found.sort(key=lambda name: not is_sum_of_sizes(solutions[name]))
    return (found[0], solutions[found[0]]) if found else None


def _solutions(left: Dim, right: Dim) -> Iterator[tuple[str, Dim]]:
    """Each symbol of which the difference of two sizes has one whole, as c * symbol + c * rest."""
    difference = subtract(left, right)
    if isinstance(difference, int | UnknownDim):
        return
    terms = difference.terms if isinstance(difference, Polynomial) else (((difference,), 1),)
    for product, factor in terms:
        if len(product) != 1 or not isinstance(product[0], Symbol):
            continue
        symbol = product[0]
        rest = subtract(difference, multiply(factor, symbol))
        value = exact_quotient(rest, -factor)
        if value is not None and symbol.name not in symbol_names(rest):
            yield symbol.name, value
