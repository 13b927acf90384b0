"""Operators on sequences and optionals: tuples where the length is known, else lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    is_known,
    known_integer,
    rank_of,
    shape_of,
    type_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.sequence_parts import (
    parts_of_many_sizes,
    parts_of_one_size,
    single_elements,
)
from relay_tune.frontend.onnx_import.operators.split import parts_of_sizes
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.sequences import (
    NOTHING,
    as_list,
    called,
    case,
    cons,
    converted,
    element_type,
    function_of,
    inner_type,
    is_option,
    joined_type,
    known_fields,
    list_of,
    made,
    nothing,
)
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Expr, Function, Match, Tuple, Var
from relay_tune.ir.types import FuncType, TensorType, Type

MAXIMUM_LENGTH = 4096


def _known_index(position: Expr, length: int) -> int:
    """A known position, counted from the front."""
    index = known_integer(position, "the position")
    if not -length <= index < length:
        raise ModelError(f"position {index} is out of range for a sequence of {length} elements.")
    return index % length


def _index(build: Builder, position: Expr, sequence: Expr, *, behind: bool = False) -> Expr:
    """A position in a list that may count from its end, as an int32 scalar from the front.

    It is read from a vector of positions, so that one out of range is an error that names the
    node. `behind` allows that behind the last element, before which negative ones count.
    """
    index = cast_to(build, build.call("reshape", position, newshape=()), "int64")
    length = cast_to(build, called("length", TensorType((), "int32"), sequence), "int64")
    if behind:
        one = build.constant(1)
        length = build.call("add", length, one)
        is_negative = build.call("less", index, build.constant(0))
        index = build.call("where", is_negative, build.call("subtract", index, one), index)
    numbers = range_at_run_time(build, build.constant(0), length)
    return cast_to(build, build.call("take", numbers, index, axis=0, mode="raise"), "int32")


def _joined(build: Builder, fields: Sequence[Expr]) -> Tuple:
    if len(fields) > MAXIMUM_LENGTH:
        raise ModelError(f"a sequence of {len(fields)} elements is too long.")
    return build.tuple_of(fields)


def _list(build: Builder, sequence: Expr, *others: Type) -> Expr:
    """A sequence as a list, of a type that elements of some other types fit, too."""
    types = [each for each in (element_type(type_of(sequence)), *others) if each is not None]
    if not types:
        raise ModelError("an empty sequence has no such element.")
    common = types[0]
    for each in types[1:]:
        common = joined_type(common, each)
    return as_list(build, sequence, common)


def translate_construct(node: OnnxNode, build: Builder) -> Expr:
    """A sequence of given elements."""
    return _joined(build, node.all_inputs())


def translate_empty(node: OnnxNode, build: Builder) -> Expr:
    """A sequence without elements."""
    return build.tuple_of(())


def translate_at(node: OnnxNode, build: Builder) -> Expr:
    """One element."""
    sequence, position = node.input(0), node.input(1)
    fields = known_fields(build, sequence)
    if fields is not None and is_known(position):
        return fields[_known_index(position, len(fields))]
    elements = _list(build, sequence)
    element = inner_type(type_of(elements))
    return called("nth", element, elements, _index(build, position, elements))


def translate_length(node: OnnxNode, build: Builder) -> Expr:
    """The number of elements."""
    sequence = node.input(0)
    fields = known_fields(build, sequence)
    if fields is not None:
        return build.constant(len(fields), "int64")
    return cast_to(build, called("length", TensorType((), "int32"), sequence), "int64")


def translate_insert(node: OnnxNode, build: Builder) -> Expr:
    """With one more element, at the end or before a position."""
    sequence, value, position = node.input(0), node.input(1), node.optional(2)
    fields = known_fields(build, sequence)
    if fields is None or (position is not None and not is_known(position)):
        return _inserted(build, sequence, value, position)
    index = len(fields)
    if position is not None and known_integer(position, "the position") != index:
        index = _known_index(position, len(fields))
    return _joined(build, [*fields[:index], value, *fields[index:]])


def _inserted(build: Builder, sequence: Expr, value: Expr, position: Expr | None) -> Expr:
    elements = _list(build, sequence, type_of(value))
    type_ = type_of(elements)
    if position is None:
        return called("concat", type_, elements, cons(build, value, made("Nil", type_)))
    value = converted(build, value, inner_type(type_))
    return called("insert", type_, elements, _index(build, position, elements, behind=True), value)


def _tensor_element(type_: Type) -> TensorType:
    element = inner_type(type_)
    if not isinstance(element, TensorType):
        raise UnsupportedOperatorError("sequences of sequences are not supported.")
    return element


def translate_erase(node: OnnxNode, build: Builder) -> Expr:
    """Without one element, the last or that at a position."""
    sequence, position = node.input(0), node.optional(1)
    fields = known_fields(build, sequence)
    if fields is None or (position is not None and not is_known(position)):
        elements = _list(build, sequence)
        last = build.constant(-1, "int64") if position is None else position
        return called("erase", type_of(elements), elements, _index(build, last, elements))
    if not fields:
        raise ModelError("an empty sequence has no element to erase.")
    index = len(fields) - 1 if position is None else _known_index(position, len(fields))
    return _joined(build, fields[:index] + fields[index + 1 :])


def translate_concat(node: OnnxNode, build: Builder) -> Expr:
    """All elements one after another, or stacked along a new axis."""
    fields, new_axis = known_fields(build, node.input(0)), node.flag("new_axis", 0)
    if fields is None:
        return _joined_list(build, node.input(0), node.integer("axis"), new_axis)
    if not fields:
        raise ModelError("an empty sequence cannot be joined.")
    axis = checked_axis(node.integer("axis"), rank_of(fields[0]) + new_axis)
    return build.call("stack" if new_axis else "concatenate", build.tuple_of(fields), axis=axis)


def _joined_list(build: Builder, sequence: Expr, given_axis: int, new_axis: bool) -> Expr:
    """The elements of a list, which must have one: neighbours are joined, then their results."""
    element = _tensor_element(type_of(sequence))
    axis = checked_axis(given_axis, len(element.shape) + new_axis)

    def opened(value: Expr) -> Expr:
        if new_axis:
            value = build.call("expand_dims", value, axis=axis)
        shape = list(shape_of(value))
        shape[axis] = UNKNOWN
        return build.with_shape(value, shape)

    opening = function_of(build, element, opened)
    part = type_of(opening.body)
    left, right = (Var(name, part, type=part) for name in ("left", "right"))
    with build.scope() as binding:
        both = binding(build.call("concatenate", build.tuple_of((left, right)), axis=axis))
    joining = Function((left, right), both, result_type=part, type=FuncType((part, part), part))
    return called("reduce", part, joining, called("map", list_of(part), opening, sequence))


def translate_split(node: OnnxNode, build: Builder) -> Expr:
    """Parts along an axis: of a given size, of given sizes, or single slices."""
    data, split = node.input(0), node.optional(1)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    keeps = split is not None or node.flag("keepdims", 1)
    size = shape_of(data)[axis]
    if split is not None and rank_of(split) == 1:
        is_counted = isinstance(shape_of(split)[0], int)
        make = _counted_parts if is_counted else parts_of_many_sizes
        return make(build, data, axis, split)
    if split is not None and not (isinstance(size, int) and is_known(split)):
        return parts_of_one_size(build, data, axis, cast_to(build, split, "int64"))
    if not isinstance(size, int):
        return single_elements(build, data, axis, keeps)
    bounds = _bounds(split, size)
    if len(bounds) > MAXIMUM_LENGTH:
        raise ModelError(f"a sequence of {len(bounds)} elements is too long.")
    parts = [part(build, data, axis, begin, end) for begin, end in bounds]
    if not keeps:
        parts = [build.call("squeeze", each, axis=(axis,)) for each in parts]
    return build.tuple_of(parts)


def _counted_parts(build: Builder, data: Expr, axis: int, split: Expr) -> Expr:
    return build.tuple_of(parts_of_sizes(build, data, axis, split))


def _bounds(split: Expr | None, size: int) -> list[tuple[int, int]]:
    """Where single slices, or parts of one size, begin and end."""
    if split is None:
        return [(index, index + 1) for index in range(min(size, MAXIMUM_LENGTH + 1))]
    step = known_integer(split, "the input split")
    if step < 1 or size // step > MAXIMUM_LENGTH:
        raise ModelError(f"an axis of size {size} is not split into parts of {step}.")
    return [(begin, min(begin + step, size)) for begin in range(0, size, step)]


def translate_optional(node: OnnxNode, build: Builder) -> Expr:
    """A value that could have been missing, or nothing."""
    given = node.optional(0)
    return nothing() if given is None else given


def translate_has_element(node: OnnxNode, build: Builder) -> Expr:
    """Whether there is a value."""
    given = node.optional(0)
    if given is None or type_of(given) == NOTHING:
        return build.constant(np.array(False))
    if not is_option(type_of(given)):
        return build.constant(np.array(True))
    value = Var("value", inner_type(type_of(given)), type=inner_type(type_of(given)))
    yes, no = (build.constant(np.array(each)) for each in (True, False))
    clauses = (case("Some", (value,), yes), case("None", (), no))
    return Match(given, clauses, type=TensorType((), "bool"))


def translate_get_element(node: OnnxNode, build: Builder) -> Expr:
    """The value, which must be there."""
    given = node.input(0)
    if type_of(given) == NOTHING:
        raise ModelError("the optional is empty; it has no element to get.")
    if not is_option(type_of(given)):
        return given
    value = Var("value", inner_type(type_of(given)), type=inner_type(type_of(given)))
    return Match(given, (case("Some", (value,), value),), complete=False, type=type_of(value))


SEQUENCES: Mapping[str, Translator] = {
    "SequenceConstruct": translate_construct,
    "SequenceEmpty": translate_empty,
    "SequenceAt": translate_at,
    "SequenceLength": translate_length,
    "SequenceInsert": translate_insert,
    "SequenceErase": translate_erase,
    "ConcatFromSequence": translate_concat,
    "SplitToSequence": translate_split,
    "Optional": translate_optional,
    "OptionalHasElement": translate_has_element,
    "OptionalGetElement": translate_get_element,
}
