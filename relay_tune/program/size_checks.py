"""Sizes that a program says a tensor has, where its type before did not tell.

before: def @f(%x: Tensor[(n, 3), float32], %y: Tensor[(n), float32]) { .. }   @f(%a, %b)
after:  check that %a.shape[1] is 3;  check that %b.shape[0] is %a.shape[0];   @f(%a, %b)

Parameters, results, annotated variables and fields of data may have sizes where a `?` is given.
Such sizes are compared when the program runs, so that code for known sizes never sees others. Data
and cells whose types have different sizes are different objects, and the sizes that functions take
cannot be compared before they are called; a program that needs it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from relay_tune.errors import NoNativeCodeError, Span
from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.types import FuncType, TensorType, TupleType, Type
from relay_tune.program.instructions import CheckSize, Register, SizeOf
from relay_tune.program.kinds import Kind, ObjectKind, TensorKind
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_terms import parts
from relay_tune.typing.type_text import type_text

Symbols = Mapping[str, SizeOf]
"""Where the size of a symbol can be read."""


def symbols_of(registers: Iterable[Register]) -> dict[str, SizeOf]:
    """Where the symbols in the types of registers can be read."""
    found: dict[str, SizeOf] = {}
    for register in registers:
        if isinstance(register.kind, TensorKind):
            for axis, dim in enumerate(register.kind.type.shape):
                if isinstance(dim, Symbol):
                    found.setdefault(dim.name, SizeOf(register, axis))
    return found


def is_as_wanted(given: Kind, wanted: Kind) -> bool:
    """Whether values of a kind fit another kind whatever their sizes are."""
    if isinstance(given, TensorKind) and isinstance(wanted, TensorKind):
        pairs = zip(given.type.shape, wanted.type.shape, strict=True)
        return all(isinstance(want, UnknownDim) or have == want for have, want in pairs)
    return given == wanted


def own_checks(
    given: Sequence[Register], wanted: Sequence[Kind], symbols: Symbols, where: Span | None
) -> Iterator[CheckSize]:
    """Checks of values whose kinds are wanted in the function that has the symbols."""
    for register, kind in zip(given, wanted, strict=True):
        if is_as_wanted(register.kind, kind):
            continue
        if not isinstance(kind, TensorKind) or not isinstance(register.kind, TensorKind):
            _require_safe(register.kind, kind, where)
            continue
        for axis, (have, want) in enumerate(_sizes(register.kind, kind)):
            if isinstance(want, UnknownDim) or have == want:
                continue
            if not symbol_names(want) <= symbols.keys():
                raise NoNativeCodeError(
                    f"The size {want} is that of no parameter, so that it is not known.",
                    where=where,
                    remedy="Write ? for it, or a symbol that stands in the type of a parameter.",
                )
            yield _check(register, axis, want, symbols, where)


def call_checks(
    given: Sequence[Register], wanted: Sequence[Kind], outer: Symbols, where: Span | None
) -> Iterator[CheckSize]:
    """Checks of the arguments of a call, whose parameters are of the kinds that are wanted.

    A symbol of a parameter is the size of the argument where it stands first, unless it is one of
    the function around a local one (`outer`).
    """
    symbols, first = dict(outer), {}
    for register, axis, have, want in _axes(given, wanted):
        if isinstance(want, Symbol) and want.name not in symbols:
            symbols[want.name] = SizeOf(register, axis)
            first[want.name] = have
    for register, kind in zip(given, wanted, strict=True):
        _require_safe(register.kind, kind, where)
    for register, axis, have, want in _axes(given, wanted):
        known = first.get(want.name, want) if isinstance(want, Symbol) else want
        is_told = have == known and not isinstance(have, UnknownDim)
        if isinstance(want, UnknownDim) or is_told or not symbol_names(want) <= symbols.keys():
            continue
        if isinstance(want, Symbol) and symbols[want.name] == SizeOf(register, axis):
            continue
        if isinstance(have, UnknownDim) or isinstance(known, UnknownDim):
            yield _check(register, axis, want, symbols, where)


def _axes(
    given: Sequence[Register], wanted: Sequence[Kind]
) -> Iterator[tuple[Register, int, Dim, Dim]]:
    for register, kind in zip(given, wanted, strict=True):
        if isinstance(register.kind, TensorKind) and isinstance(kind, TensorKind):
            for axis, (have, want) in enumerate(_sizes(register.kind, kind)):
                yield register, axis, have, want


def _sizes(given: TensorKind, wanted: TensorKind) -> Iterator[tuple[Dim, Dim]]:
    return zip(given.type.shape, wanted.type.shape, strict=True)


def _check(
    register: Register, axis: int, want: Dim, symbols: Symbols, where: Span | None
) -> CheckSize:
    needed = {name: symbols[name] for name in sorted(symbol_names(want))}
    suffix = "" if where is None else f" at {where}"
    message = f"A tensor{suffix} has another size on axis {axis} than {want}, which its type says."
    return CheckSize(SizeOf(register, axis), want, needed, message)


@dataclass(frozen=True, slots=True)
class _Flow:
    """Types at equal positions of what is given and what is wanted.

    `into` are the types into which values go: the wanted one, but the given one for parameters of
    functions. `free` are symbols that are any size. What objects are made of must be `same`.
    """

    given: Type
    wanted: Type
    into: tuple[bool, bool] = (False, True)
    free: frozenset[str] = frozenset()
    same: bool = False


def _require_safe(given: Kind, wanted: Kind, where: Span | None) -> None:
    """Refuse data, cells and functions inside of which sizes would have to be compared."""
    if not isinstance(given, ObjectKind) or not isinstance(wanted, ObjectKind):
        return
    pending = [_Flow(given.type, wanted.type)]
    while pending:
        flow = pending.pop()
        if isinstance(flow.given, TensorType) and isinstance(flow.wanted, TensorType):
            if not _is_safe(flow, flow.given.shape, flow.wanted.shape):
                raise NoNativeCodeError(
                    f"A value of type {type_text(given.type)} is taken for one of type "
                    f"{type_text(wanted.type)}; the sizes inside of it differ.",
                    where=where,
                    remedy="Write the same sizes in both types, such as ? where they are open; "
                    "let %part: Tensor[(?, 4), float32] = .. makes a part of such a type.",
                )
            continue
        pending += _inner_flows(flow)


def _is_safe(flow: _Flow, given: Sequence[Dim], wanted: Sequence[Dim]) -> bool:
    if flow.same:
        return tuple(given) == tuple(wanted)
    for dims in zip(given, wanted, strict=True):
        for known, other, takes in zip(dims, reversed(dims), flow.into, strict=True):
            is_any = isinstance(known, Symbol) and known.name in flow.free
            is_told = isinstance(known, UnknownDim) or not isinstance(other, UnknownDim)
            if takes and not is_told and not is_any:
                return False
    return True


def _inner_flows(flow: _Flow) -> Iterator[_Flow]:
    inner = zip(parts(flow.given), parts(flow.wanted), strict=True)
    match flow.given:
        case FuncType():
            *params, (given, wanted) = inner
            once = _symbols_that_stand_once(flow.given.params)
            for pair in params:
                yield _Flow(*pair, flow.into[::-1], once, flow.same)
            yield _Flow(given, wanted, flow.into, same=flow.same)
        case TupleType():
            for pair in inner:
                yield _Flow(*pair, flow.into, flow.free, flow.same)
        case _:
            for pair in inner:
                yield _Flow(*pair, same=True)


def _symbols_that_stand_once(types: Iterable[Type]) -> frozenset[str]:
    """The symbols of a function's parameters that no two sizes share."""
    count: Counter[str] = Counter()
    pending = list(types)
    while pending:
        type_ = pending.pop()
        pending += parts(type_)
        if isinstance(type_, TensorType):
            count.update(name for dim in type_.shape for name in symbol_names(dim))
    return frozenset(name for name, times in count.items() if times == 1)
