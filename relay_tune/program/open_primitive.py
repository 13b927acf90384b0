"""Primitives whose sizes are known at run time only, with a name for each size.

    before:  fn (%a: Tensor[(?, 4), float32], %b: Tensor[(1, 4), float32]) {
               concatenate((%a, %b)) }                 gives  Tensor[(?, 4), float32]
    after:   fn (%a: Tensor[(s0, 4), float32], ..) {
               concatenate((%a, %b)) }                 gives  Tensor[(s0 + 1, 4), float32]

So the types of the renamed primitive say, as arithmetic of the inputs' sizes, what shape each
result has: they are its shape function. Equal primitives have equal names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from relay_tune.errors import FIX_SIZES, NoNativeCodeError, Span, TypeInferenceError
from relay_tune.ir.dim import UNKNOWN, Dim, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import add, substitute, subtract, symbol_names
from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Var
from relay_tune.ir.operator import Operator, RelationError
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.ir.types import Type
from relay_tune.op.lower import finds_sizes
from relay_tune.op.spaced_inputs import room_symbol, spaced_inputs
from relay_tune.program.element_counts import Counts, element_counts
from relay_tune.program.kinds import (
    component_types,
    function_type,
    is_open_type,
    tensors_of,
    type_of,
)
from relay_tune.program.least_sizes import least_sizes
from relay_tune.program.size_equalities import equation, is_unknown_name
from relay_tune.program.size_naming import SizeNaming, SizeSource
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_expr
from relay_tune.typing.type_terms import substitute_symbols
from relay_tune.typing.unify import UnificationError


@dataclass(frozen=True, eq=False, slots=True)
class OpenPrimitive:
    """A primitive with names for its sizes.

    Attributes:
        function: the typed primitive; its types have symbols, but no `?`.
        symbols: where each symbol is read.
        checks: sizes of inputs that must be as given, because the primitive has no type otherwise.
        counts: numbers of elements that must be equal.
        outputs: the shape of each result.
        found: the names of the results' sizes that the operator finds from its inputs.
        meanings: what symbols are in the names of the user's program, `?` where it has none.
    """

    function: Function
    symbols: Mapping[str, SizeSource]
    checks: tuple[tuple[SizeSource, Dim], ...]
    outputs: tuple[tuple[Dim, ...], ...]
    found: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[Counts, ...] = ()

    @property
    def legend(self) -> tuple[str, ...]:
        """A sentence that says what its symbols are, for messages, if it has any."""
        known = [f"{name} is {text}" for name, text in self.meanings.items() if text != "?"]
        return (f"Here {', '.join(known)}.",) if known else ()


def is_open_primitive(primitive: Function) -> bool:
    """Whether some sizes of a typed primitive are known at run time only, or told to be."""
    types = (*map(type_of, primitive.params), function_type(primitive).result)
    return any(is_open_type(part) for each in types for part in component_types(each))


def open_primitive(primitive: Function) -> OpenPrimitive:
    """A primitive with names for its sizes.

    Where distinct names for sizes give no type because an operator wants two of them to be equal,
    they are, and the primitive checks it. Raises NoNativeCodeError if it has no type then, or the
    size of a result depends on the elements of inputs.
    """
    naming, typed = _named(primitive)
    more = {name: least - 1 for name, least in least_sizes(typed).items()}
    larger = {name: add(Symbol(name), number) for name, number in more.items()}
    if larger:
        types = [substitute_symbols(type_, larger) for type_ in function_type(typed).params]
        typed = _typed(primitive, types)
    shapes = [t.shape for t in tensors_of(function_type(typed).result)]
    outputs, found = _with_names_for_unknown(shapes)
    if found and not finds_sizes(typed):
        names = _operators(typed)
        raise NoNativeCodeError(
            f"A size of a result of {names} does not follow from those of its inputs.",
            where=_location(primitive),
            remedy=FIX_SIZES,
        )
    named = {name: each.without(more.get(name, 0)) for name, each in naming.symbols.items()}
    symbols = {**named, **dict(_rooms(primitive))}
    checks = tuple((source, substitute(size, larger)) for source, size in naming.checks)
    meanings = {
        name: _readable(subtract(symbol, more.get(name, 0)))
        for name, symbol in naming.meanings.items()
    }
    counts = element_counts(typed)
    return OpenPrimitive(typed, symbols, checks, outputs, found, meanings, counts)


def _rooms(primitive: Function) -> Iterator[tuple[str, SizeSource]]:
    """Where the sizes of the tensors around spaced inputs are read: behind the inputs' own."""
    tensors = [t for type_ in function_type(primitive).params for t in tensors_of(type_)]
    for position in spaced_inputs(primitive):
        yield room_symbol(position), SizeSource(position, len(tensors[position].shape))


def _named(primitive: Function) -> tuple[SizeNaming, Function]:
    """The primitive under names for its sizes, of which as few are equal as give it a type.

    Raises NoNativeCodeError where none give it one.
    """
    equal: dict[str, Dim] = {}
    params = function_type(primitive).params
    while True:
        naming = SizeNaming(equal, params)
        types = [naming.named(type_) for type_ in params]
        try:
            return naming, _typed(primitive, types)
        except TypeInferenceError as error:
            sizes = _sizes_to_be_equal(error, naming)
            found = None if sizes is None else equation(*sizes, naming.free)
            if found is None:
                raise _misfit(primitive, error, sizes) from error
            equal[found[0]] = found[1]


def _typed(primitive: Function, types: Sequence[Type]) -> Function:
    """The primitive with parameters of other types; raises TypeInferenceError if it has none."""
    typed = infer_expr(retyped(primitive, types))
    assert isinstance(typed, Function)
    return typed


def _sizes_to_be_equal(error: TypeInferenceError, naming: SizeNaming) -> tuple[Dim, Dim] | None:
    """The sizes because of which a primitive has no type, if that is why."""
    cause = error.__cause__
    if not isinstance(cause, RelationError | UnificationError) or cause.sizes is None:
        return None
    left, right = cause.sizes
    return substitute(left, naming.meanings), substitute(right, naming.meanings)


def _misfit(
    primitive: Function, error: TypeInferenceError, sizes: tuple[Dim, Dim] | None
) -> NoNativeCodeError:
    """The error of a primitive that has no type, in the names of the user's program."""
    reason = error.message
    if sizes is not None:
        left, right = map(_readable, sizes)
        reason = f"{left} would have to be equal to {right}, which only a run can tell."
    return NoNativeCodeError(
        f"The sizes of {_operators(primitive)} do not fit for all sizes of the inputs.",
        notes=(reason,),
        where=error.where or _location(primitive),
        remedy=FIX_SIZES,
    )


def _readable(size: Dim) -> str:
    """A size as the user's program has it."""
    unknown = {name: UNKNOWN for name in symbol_names(size) if is_unknown_name(name)}
    return str(substitute(size, unknown))


def _location(primitive: Function) -> Span | None:
    """Where the user's program has the operator that a primitive computes last."""
    spans = (node.span for node in (primitive, primitive.body))
    return next((span for span in spans if span is not None), None)


def _with_names_for_unknown(
    shapes: Sequence[tuple[Dim, ...]],
) -> tuple[tuple[tuple[Dim, ...], ...], tuple[str, ...]]:
    """Shapes with names for what is `?`, and the names."""
    found: list[str] = []

    def named(dim: Dim) -> Dim:
        if not isinstance(dim, UnknownDim):
            return dim
        found.append(f"u{len(found)}")
        return Symbol(found[-1])

    outputs = tuple(tuple(named(dim) for dim in shape) for shape in shapes)
    return outputs, tuple(found)


def _operators(function: Function) -> str:
    names = [
        node.callee.name
        for node in post_order(function.body)
        if isinstance(node, Call) and isinstance(node.callee, Operator)
    ]
    return ", ".join(dict.fromkeys(names))


def with_sizes(primitive: OpenPrimitive, sizes: Mapping[str, int]) -> Function:
    """The typed primitive with numbers for some of its symbols."""
    types = [substitute_symbols(t, sizes) for t in function_type(primitive.function).params]
    typed = infer_expr(retyped(primitive.function, types))
    assert isinstance(typed, Function)
    return typed


def retyped(function: Function, types: Sequence[Type]) -> Function:
    """A primitive with parameters of other types, and nothing known of types inside."""
    new = {p: Var(p.name, t, span=p.span) for p, t in zip(function.params, types, strict=True)}
    for node in post_order(function.body):
        if isinstance(node, Let):
            new[node.var] = Var(node.var.name, span=node.var.span)

    def visit(node: Expr) -> Expr:
        match node:
            case Var():
                return new[node]
            case Constant() | Operator():
                return node
            case Let():
                return replace(node, var=new[node.var], type=None)
            case _:
                return replace(node, type=None)

    params = tuple(new[param] for param in function.params)
    return Function(params, rewrite(function.body, visit), attributes=function.attributes)
