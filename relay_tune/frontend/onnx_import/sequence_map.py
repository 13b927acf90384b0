"""SequenceMap: a body that runs on each element, written out or as a recursive function.

before:  y = SequenceMap(xs, ys, body)
after:   let %each = fn (%xs, %ys) {
           match (%xs) {
             Cons(%x, %xs') => { let %rest = %each(%xs', tl(%ys));
                                 (Cons(body(%x, hd(%ys)), %rest.0), ) },
             Nil => (Nil, ),
           }
         };
         %each(xs, ys)
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.frontend.onnx_import.carried_types import variable
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.sequences import (
    as_list,
    called,
    case,
    cons,
    element_type,
    inner_type,
    is_sequence,
    known_fields,
    list_of,
    made,
)
from relay_tune.frontend.onnx_import.subgraph import Enter, Subgraph, check_unrolled
from relay_tune.ir.expr import Call, Expr, Function, Let, Match
from relay_tune.ir.types import FuncType, TupleType


def translate_sequence_map(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """The results for each element of the first sequence and what stands beside it in others."""
    inputs, body = node.all_inputs(), enter(node.graph("body"))
    known = [known_fields(build, each) if is_sequence(type_of(each)) else [] for each in inputs]
    if not is_sequence(type_of(inputs[0])):
        raise ModelError("the first input must be a sequence.")
    if any(fields is None for fields in known):
        return _mapped_list(build, inputs, body)
    columns = [
        fields if is_sequence(type_of(each)) else [each] * len(known[0] or [])
        for each, fields in zip(inputs, known, strict=True)
    ]
    lengths = {len(column or []) for column in columns}
    if len(lengths) > 1:
        raise ModelError(f"the sequences have different lengths: {sorted(lengths)}.")
    check_unrolled(max(lengths), body)
    rows = [body.run(row) for row in zip(*(column or [] for column in columns), strict=True)]
    return [build.tuple_of([row[index] for row in rows]) for index in range(body.output_count)]


def _mapped_list(build: Builder, inputs: Sequence[Expr], body: Subgraph) -> list[Expr]:
    lists = [_as_list(build, each) for each in inputs if is_sequence(type_of(each))]
    parameters = [variable(f"list{n}", type_of(each)) for n, each in enumerate(lists)]
    body.bind_captured()
    first = variable("first", inner_type(type_of(lists[0])))
    others = variable("others", type_of(lists[0]))
    with build.scope() as binding:
        heads = [first, *(called("hd", inner_type(type_of(p)), p) for p in parameters[1:])]
        tails = [others, *(called("tl", type_of(p), p) for p in parameters[1:])]
        left = iter(heads)
        results = body.run([next(left) if is_sequence(type_of(v)) else v for v in inputs])
        types = [list_of(type_of(each)) for each in results]
        result = TupleType(tuple(types))
        each = variable("each", FuncType(tuple(type_of(p) for p in parameters), result))
        rest = variable("rest", result)
        fields = [cons(build, v, build.item(rest, n)) for n, v in enumerate(results)]
        again = Call(each, tuple(tails), type=result)
        some = binding(Let(rest, again, build.tuple_of(fields), type=result))
    none = build.tuple_of([made("Nil", type_) for type_ in types])
    clauses = (case("Cons", (first, others), some), case("Nil", (), none))
    match = Match(parameters[0], clauses, type=result)
    function = Function(tuple(parameters), match, result_type=result, type=each.type)
    whole = Let(each, function, Call(each, tuple(lists), type=result), type=result)
    return [build.item(whole, index) for index in range(len(types))]


def _as_list(build: Builder, sequence: Expr) -> Expr:
    element = element_type(type_of(sequence))
    if element is None:
        raise UnsupportedOperatorError("nothing is known of the elements of an empty sequence.")
    return as_list(build, sequence, element)
