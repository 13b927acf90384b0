"""Types and dimensions as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.ir.dim import Atom, Dim, Polynomial, PositivePart, Quotient, Symbol
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.names import bare_name, quoted
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)

NameOf = Callable[[TypeVar], str]


def type_text(type_: Type, name_of: NameOf = lambda variable: variable.name) -> str:
    """A type as text; `name_of` gives the names of type parameters."""
    match type_:
        case TensorType():
            return _tensor_text(type_)
        case TupleType():
            return list_text([type_text(part, name_of) for part in type_.fields])
        case FuncType():
            params = ", ".join(type_text(param, name_of) for param in type_.params)
            head = "fn " + type_params_text(type_.type_params, name_of)
            return f"{head}({params}) -> {type_text(type_.result, name_of)}"
        case RefType():
            return f"ref({type_text(type_.value, name_of)})"
        case TypeCall():
            arguments = ", ".join(type_text(part, name_of) for part in type_.arguments)
            return f"{_callee_text(type_.function, name_of)}[{arguments}]"
        case TypeVar():
            return type_name_text(name_of(type_))
        case GlobalTypeVar():
            return type_name_text(type_.name)
        case _:
            return "_"


def type_params_text(params: Sequence[TypeVar], name_of: NameOf) -> str:
    """`[A, B: Shape]`, or nothing without parameters."""
    if not params:
        return ""
    return "[" + ", ".join(_type_param_text(param, name_of) for param in params) + "]"


def list_text(parts: Sequence[str]) -> str:
    """Parts in round brackets; one alone has a comma behind it."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def type_name_text(name: str) -> str:
    """The name of a type, in quotes where it would mean something else."""
    return quoted(name) if name in DTYPES or name == "Tensor" else bare_name(name)


def dim_text(dim: Dim) -> str:
    """A dimension as text; a polynomial as a sum."""
    match dim:
        case Symbol():
            return bare_name(dim.name)
        case Polynomial():
            return _polynomial_text(dim)
        case _:
            return str(dim)


def _type_param_text(param: TypeVar, name_of: NameOf) -> str:
    name = type_name_text(name_of(param))
    return name if param.kind is Kind.TYPE else f"{name}: {param.kind.value}"


def _callee_text(callee: Type, name_of: NameOf) -> str:
    text = type_text(callee, name_of)
    return f"({text})" if isinstance(callee, FuncType) else text


def _tensor_text(tensor: TensorType) -> str:
    if not tensor.shape:
        return tensor.dtype
    return f"Tensor[({', '.join(dim_text(dim) for dim in tensor.shape)}), {tensor.dtype}]"


def _polynomial_text(polynomial: Polynomial) -> str:
    text = ""
    for product, factor in polynomial.terms:
        sign = "-" if factor < 0 else "+"
        term = _term_text(product, abs(factor))
        if text:
            text += f" {sign} {term}"
        elif factor < 0:  # -n // 2 is read as (-n) // 2
            text = f"-({term})" if _is_quotient(product, factor) else f"-{term}"
        else:
            text = term
    return text


def _is_quotient(product: tuple[Atom, ...], factor: int) -> bool:
    return abs(factor) == 1 and len(product) == 1 and isinstance(product[0], Quotient)


def _term_text(product: tuple[Atom, ...], factor: int) -> str:
    if factor == 1 and len(product) == 1:
        return _atom_text(product[0])
    factors = [] if factor == 1 and product else [str(factor)]
    factors += [
        f"({_atom_text(atom)})" if isinstance(atom, Quotient) else _atom_text(atom)
        for atom in product
    ]
    return " * ".join(factors)


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, Symbol):
        return bare_name(atom.name)
    if isinstance(atom, PositivePart):
        return f"max({dim_text(atom.value)}, 0)"
    numerator = dim_text(atom.numerator)
    if isinstance(atom.numerator, Polynomial):
        numerator = f"({numerator})"
    return f"{numerator} // {atom.divisor}"
