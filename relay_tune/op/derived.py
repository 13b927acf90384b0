"""Derivatives of operators, derived from their tensor computations: adjoints and tangents.

    %d = derivative.adjoint((%x, %y), (%a,), operator="multiply", fields=(0, 0))
    what a change of an element of %x changes in the product, summed with the weights %a: %a * %y

They are operators like any other: they have derivatives themselves, of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import (
    FusionKind,
    Operator,
    RelationContext,
    RelationError,
    define,
    find_operator,
)
from relay_tune.ir.record_text import record_of_text
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.elements import Array, integer_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.derivative import UnderivableError, adjoints, tangents
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor, literal
from relay_tune.tensor.size import dim_of, example_sizes, size_value
from relay_tune.tensor.tensor import compute, input_tensor

TENSOR = -1
"""In `fields`: the argument is a tensor, not a tuple."""


@dataclass(frozen=True)
class DerivedAttributes(Attributes):
    """Whose derivative it is.

    Attributes:
        operator: the name of the operator.
        attributes: those of its call, as Relay text.
        fields: how many fields each argument of the call has; -1 is a tensor, not a tuple.
        varied: for an adjoint the number of the input whose adjoint it is; for a tangent those of
            the inputs that change. Tensors in tuples count one by one.
        results: the numbers of the results of the call that have adjoints, in the order in which
            these are given; for a tangent the number of the one whose change it is.
    """

    operator: str
    attributes: str = ""
    fields: tuple[int, ...] = (TENSOR,)
    varied: tuple[int, ...] = (0,)
    results: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class _Original:
    """The call whose derivative is taken."""

    operator: Operator
    record: Attributes
    fields: tuple[int, ...]

    def arguments(self, flat: Sequence[Any]) -> list[Any]:
        """Values in the form of the arguments."""
        values = iter(flat)
        return [
            next(values) if count == TENSOR else tuple(next(values) for _ in range(count))
            for count in self.fields
        ]

    def result_types(self, inputs: Sequence[TensorType], context: Any) -> tuple[Type, ...] | None:
        """The types of the results; None where they are not known yet."""
        types = [
            TupleType(each) if isinstance(each, tuple) else each for each in self.arguments(inputs)
        ]
        result = self.operator.relation(types, self.record, context)
        if result is None:
            return None
        return result.fields if isinstance(result, TupleType) else (result,)

    def computed(self, inputs: Sequence[Tensor], types: Sequence[Any]) -> Sequence[Tensor]:
        """The tensors of the results."""
        if self.operator.compute is None:
            raise BuildError(
                f"The operator {self.operator.name} has no computation to derive a derivative of.",
                remedy="Differentiate the simpler operators that it is written in.",
            )
        return self.operator.compute(self.record, self.arguments(inputs), types)


class _KnownTypes:
    """A context for relations whose inputs are all known."""

    def unify(self, left: Type, right: Type) -> Type:
        """The left type; the call was typed before, so both agree."""
        return left

    def resolve(self, type_: Type) -> Type:
        """The type itself."""
        return type_


def original_of(attributes: DerivedAttributes) -> _Original:
    """The call that attributes describe; RelationError if there is no such operator."""
    operator = find_operator(attributes.operator)
    if operator is None:
        raise RelationError(f"There is no operator {attributes.operator} to differentiate.")
    record = record_of_text(operator, attributes.attributes)
    return _Original(operator, record, attributes.fields)


def _given_types(types: Sequence[Type]) -> tuple[tuple[TensorType, ...], ...] | None:
    """The types of the tensors in the tuples of inputs and changes; None if not known yet."""
    found = []
    for type_ in types:
        if not isinstance(type_, TupleType):
            return None
        tensors = tuple(field for field in type_.fields if isinstance(field, TensorType))
        if len(tensors) != len(type_.fields):
            return None
        found.append(tensors)
    return tuple(found)


def _adjoint_relation(
    types: Sequence[Type], attributes: DerivedAttributes, context: RelationContext
) -> Type | None:
    """An adjoint for each chosen result; that of the chosen input."""
    known = _known_types(types, attributes, context)
    if known is None:
        return None
    inputs, changes, results = known
    _unify_changes("adjoint", changes, results, attributes.results, context)
    return inputs[attributes.varied[0]]


def _tangent_relation(
    types: Sequence[Type], attributes: DerivedAttributes, context: RelationContext
) -> Type | None:
    """A change for each chosen input; that of the chosen result."""
    known = _known_types(types, attributes, context)
    if known is None:
        return None
    inputs, changes, results = known
    _unify_changes("tangent", changes, inputs, attributes.varied, context)
    return results[attributes.results[0]]


def _known_types(
    types: Sequence[Type], attributes: DerivedAttributes, context: RelationContext
) -> tuple[Sequence[Type], Sequence[Type], Sequence[Type]] | None:
    """The types of inputs, changes and results of a call; None if not known yet."""
    given = _given_types(types)
    if given is None:
        return None
    inputs, changes = given
    results = original_of(attributes).result_types(inputs, context)
    return None if results is None else (inputs, changes, results)


def _unify_changes(
    kind: str,
    changes: Sequence[Type],
    values: Sequence[Type],
    numbers: Sequence[int],
    context: RelationContext,
) -> None:
    """Make the types of changes those of the values with these numbers."""
    if len(changes) != len(numbers):
        raise RelationError(f"derivative.{kind} has {len(changes)} changes for {numbers}.")
    for number, change in zip(numbers, changes, strict=True):
        context.unify(values[number], change)


def _known_results(original: _Original, inputs: Sequence[Tensor]) -> list[Any]:
    """The types of the results of a call, their sizes numbers or symbolic sizes."""
    types = [TensorType(tuple(map(dim_of, t.shape)), t.dtype) for t in inputs]
    results = original.result_types(types, _KnownTypes())
    sizes = example_sizes(size for tensor in inputs for size in tensor.shape)
    return [_sized(type_, sizes) for type_ in results or ()]


def _sized(type_: Type, sizes: Any) -> TensorType:
    assert isinstance(type_, TensorType)
    return TensorType(tuple(size_value(dim, sizes) for dim in type_.shape), type_.dtype)


def _apart(inputs: Sequence[Tensor], varied: Sequence[int]) -> list[Tensor]:
    """The inputs, those that vary as tensors of their own: one may be given twice."""
    return [
        compute(tensor.name, tensor.shape, lambda *axes, source=tensor: source[axes])
        if number in varied
        else tensor
        for number, tensor in enumerate(inputs)
    ]


def _zeros(type_: Any) -> Tensor:
    dtype = type_.dtype
    return compute("zeros", integer_shape(type_), lambda *_: literal(0.0, dtype))


def _adjoint(attributes: DerivedAttributes, inputs: Any, types: Any) -> list[Tensor]:
    values, changes = inputs
    original = original_of(attributes)
    own = _apart(values, attributes.varied)
    results = _known_results(original, own)
    if all(0 in type_.shape for type_ in results):
        return [_zeros(types[0])]
    outputs = original.computed(own, results)
    known = dict(zip(attributes.results, changes, strict=True))
    given = [known.get(number) for number in range(len(outputs))]
    wanted = own[attributes.varied[0]]
    return [_of_operator(original, lambda: adjoints(outputs, given, wanted, own))]


def _tangent(attributes: DerivedAttributes, inputs: Any, types: Any) -> list[Tensor]:
    values, changes = inputs
    original = original_of(attributes)
    own = _apart(values, attributes.varied)
    results = _known_results(original, own)
    output = original.computed(own, results)[attributes.results[0]]
    given = {own[n]: change for n, change in zip(attributes.varied, changes, strict=True)}
    return [_of_operator(original, lambda: tangents([output], given, own)[0])]


def _of_operator(original: _Original, derived: Callable[[], Tensor]) -> Tensor:
    """Call `derived`; errors name the operator."""
    try:
        return derived()
    except UnderivableError as error:
        raise BuildError(
            f"The operator {original.operator.name} has no derivative that could be derived: "
            f"{error.message}",
            remedy="Write a rule in relay_tune.op_rules.gradient.",
        ) from error


def _evaluated(computation: Callable[..., list[Tensor]], relation: Any) -> Callable[..., Array]:
    """The meaning: what the computation says, in numpy."""

    def meaning(attributes: DerivedAttributes, *arguments: tuple[Array, ...]) -> Array:
        groups = [
            [input_tensor(f"x{n}", array.shape, array.dtype.name) for n, array in enumerate(each)]
            for each in arguments
        ]
        types = [TupleType(tuple(TensorType(t.shape, t.dtype) for t in group)) for group in groups]
        result = relation(types, attributes, _KnownTypes())
        tensors = computation(attributes, groups, [result])
        pairs = [
            (tensor, np.asarray(array))
            for group, arrays in zip(groups, arguments, strict=True)
            for tensor, array in zip(group, arrays, strict=True)
        ]
        return evaluate(tensors, dict(pairs))[0]

    return meaning


adjoint = define(
    name="derivative.adjoint",
    arguments=("inputs", "adjoints"),
    relation=_adjoint_relation,
    kind=FusionKind.OPAQUE,
    attributes=DerivedAttributes,
    compute=_adjoint,
    reference=_evaluated(_adjoint, _adjoint_relation),
    documentation=(
        "The adjoint of an input of a call of another operator: how much the sum of the "
        "results times their adjoints changes with each element of the input."
    ),
)
tangent = define(
    name="derivative.tangent",
    arguments=("inputs", "tangents"),
    relation=_tangent_relation,
    kind=FusionKind.OPAQUE,
    attributes=DerivedAttributes,
    compute=_tangent,
    reference=_evaluated(_tangent, _tangent_relation),
    documentation=(
        "How much a result of a call of another operator changes with given small changes of "
        "its inputs."
    ),
)
