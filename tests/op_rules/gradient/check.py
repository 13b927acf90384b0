"""Adjoints of one call against central differences of the operator's reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Expr, Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.gradient.table import adjoints_of
from relay_tune.op_rules.typed import call_operator
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types

Array = np.ndarray[Any, Any]
Value = Array | tuple["Value", ...]
STEP = 1e-5
TOLERANCE = 1e-6


def check_adjoints(name: str, *arguments: Value, **attributes: Any) -> None:
    """The adjoints of float64 arguments, against the slope of <result, u> with a random u."""
    generator = np.random.default_rng(0)
    operator = find_operator(name)
    assert operator is not None
    record = operator.attributes(**attributes)
    params = tuple(_var(f"x{n}", _type_of(value)) for n, value in enumerate(arguments))
    node = call_operator(operator, params, record)
    assert node.type is not None
    directions = _directions(node.type, generator)
    seed, seeds = _seeds(node.type)
    result = _var("result", node.type)
    found = adjoints_of(Differentiated(node, result, seed))
    wanted = [
        (place, each) for place, each in enumerate(_leaves(list(found))) if isinstance(each, Expr)
    ]
    body = Tuple(tuple(each for _, each in wanted))
    function = Function((*params, result, *seeds), body)
    typed = infer_types(Module({"main": function}))
    value = operator.reference(record, *arguments)
    got = interpret(typed, *arguments, value, *directions)

    def slope(*given: Value) -> float:
        fields = operator.reference(record, *given)
        fields = fields if isinstance(fields, tuple) else (fields,)
        floats = [each for each in fields if each.dtype.kind == "f"]
        return sum(float(np.sum(a * b)) for a, b in zip(floats, directions, strict=True))

    _compare(got, wanted, arguments, slope)


def _compare(got: Any, wanted: Any, arguments: Any, slope: Any) -> None:
    arrays = [np.array(each) for each in _leaves(list(arguments))]
    places = {place for place, _ in wanted}
    for place, array in enumerate(arrays):
        if array.dtype.kind != "f":
            assert place not in places
            continue
        expected = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = [each.copy() for each in arrays]
                moved[place][index] += step
                sides.append(slope(*_like(arguments, iter(moved))))
            expected[index] = (sides[0] - sides[1]) / (2 * STEP)
        if place not in places:
            assert not expected.any()
            continue
        answer = np.asarray(got[[p for p, _ in wanted].index(place)])
        assert answer.shape == array.shape
        np.testing.assert_allclose(answer, expected, TOLERANCE * 10, TOLERANCE * 10)


def _var(name: str, type_: Type) -> Var:
    return Var(name, type_, type=type_)


def _type_of(value: Value) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(_type_of(field) for field in value))
    return TensorType(value.shape, value.dtype.name)


def _fields(type_: Type) -> list[Type]:
    return list(type_.fields) if isinstance(type_, TupleType) else [type_]


def _directions(type_: Type, generator: Any) -> list[Array]:
    floats = [each for each in _fields(type_) if "float" in str(getattr(each, "dtype", ""))]
    return [generator.standard_normal(each.shape) for each in floats]


def _seeds(type_: Type) -> tuple[Adjoint, list[Var]]:
    """The adjoint of a result, and the variables that it is made of."""
    fields = [
        _var(f"d{place}", each) if "float" in str(getattr(each, "dtype", "")) else None
        for place, each in enumerate(_fields(type_))
    ]
    seed = tuple(fields) if isinstance(type_, TupleType) else fields[0]
    return seed, [each for each in fields if each is not None]


def _leaves(values: list[Any]) -> list[Any]:
    return [leaf for each in values for leaf in (each if isinstance(each, tuple) else (each,))]


def _like(arguments: Any, arrays: Any) -> list[Any]:
    return [
        tuple(next(arrays) for _ in each) if isinstance(each, tuple) else next(arrays)
        for each in arguments
    ]
