"""Type parameters that are free in types and expressions."""

from relay_tune.ir.expr import Function
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType, TupleType, TypeVar
from relay_tune.transform.language.type_variables import free_type_variables, type_variables
from relay_tune.typing.infer import infer_types

A, B = TypeVar("A"), TypeVar("B")


def test_variables_of_a_type_in_order() -> None:
    type_ = TupleType((B, FuncType((A, B), A, (A,)), A))
    assert list(type_variables(type_)) == [B, B, A]


def test_a_closure_has_the_type_parameters_of_the_functions_around_it() -> None:
    text = (
        "type List[A] { Cons(A, List[A]), Nil }"
        "def @main[S](%x: S) { let %f = fn [T](%y: T) { (%y, Cons(%x, Nil)) }; %f(1) }"
    )
    main = infer_types(parse(text)).main
    (closure,) = (node for node in post_order(main.body) if isinstance(node, Function))
    assert free_type_variables(closure) == main.type_params
    assert free_type_variables(main) == ()
