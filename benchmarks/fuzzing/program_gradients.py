"""Derivatives of random programs: modes, orders, differences, passes and native code."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.fuzzing.gradient_passes import check_native, check_passes
from benchmarks.fuzzing.program_values import both, dot, floats_of, same_floats, with_floats
from relay_tune.errors import RelayError
from relay_tune.ir.expr import Constant, Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.transform.gradient.entry import differentiated
from relay_tune.transform.module_pass import rewrite_calls
from relay_tune.typing.infer import infer_types
from tests.properties.programs.derivatives import WithDerivatives
from tests.properties.programs.generator import Generator
from tests.properties.programs.random_program import random_program

STEP = 1e-6

ASIDE = 1e-3
"""So far along its changes is another point: inputs are sixteenths, where `abs` may have a kink."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with a program.

    Attributes:
        kind: "differs", a wrong number; "refused", an error that users may see; "exception", one
            that they must not.
        text: more about it.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Differentiated:
    """A program on numbers of 64 bits, and directions in which it is differentiated.

    Attributes:
        module: it; its constants of `main` are inputs.
        inputs: what it is called with.
        places: the inputs of floats.
        changes: a direction for each of these.
        weights: an adjoint of the value.
    """

    module: Module
    inputs: tuple[Any, ...]
    places: tuple[int, ...]
    changes: tuple[np.ndarray, ...]
    weights: Any

    @cached_property
    def backward(self) -> Module:
        """Takes the adjoint of the value as well; returns the value and the adjoints of inputs."""
        return differentiated(self.module, wrt=self.places, mode="adjoint")

    @cached_property
    def forward(self) -> Module:
        """Takes the changes of inputs as well; returns the value and its tangent."""
        return differentiated(self.module, wrt=self.places, mode="tangent")

    @property
    def aside(self) -> Differentiated:
        """The same at a point nearby, where no part of the program has a kink by chance."""
        return replace(self, inputs=self._moved(ASIDE))

    def slope(self, value: Callable[..., float], step: float) -> float:
        """The difference quotient of a number that depends on the inputs, in the direction."""
        return (value(*self._moved(step)) - value(*self.inputs)) / step

    def _moved(self, step: float) -> tuple[Any, ...]:
        moved = list(self.inputs)
        for place, change in zip(self.places, self.changes, strict=True):
            moved[place] = np.asarray(moved[place]) + step * change
        return tuple(moved)


def failures(seed: int, native: bool = True) -> list[Finding] | None:
    """What is wrong with the derivatives of a random program, errors included.

    None if it has no inputs of floats.
    """
    try:
        case = differentiated_program(seed)
        if not case.places:
            return None
        return [Finding("differs", text) for text in check_gradients(case, native)]
    except RelayError as error:
        return [Finding("refused", f"{type(error).__name__}: {error}")]
    except Exception as error:  # noqa: BLE001  # any failure is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename}:{place.lineno}"
        return [Finding("exception", f"{type(error).__name__}: {error} at {where}")]


def differentiated_program(seed: int) -> Differentiated:
    """A random program; every second one asks for derivatives itself."""
    generator = WithDerivatives if seed % 2 else Generator
    module, inputs = _constants_as_inputs(*_wide(*random_program(seed, generator=generator)))
    plain = Differentiate()(module)
    random = np.random.default_rng(seed)
    places = tuple(i for i, param in enumerate(module.main.params) if _is_float(param.type))
    changes = tuple(np.asarray(random.normal(size=np.shape(inputs[i]))) for i in places)
    value = interpret(plain, *inputs)
    weights = with_floats(value, lambda leaf: random.normal(size=leaf.shape))
    return Differentiated(module, tuple(inputs), places, changes, weights)


def check_gradients(case: Differentiated, native: bool = True) -> Iterator[str]:
    """What is wrong with the derivatives of a program that has inputs of floats."""
    plain = Differentiate()(case.module)
    value = interpret(plain, *case.inputs)
    inputs = (*case.inputs, case.weights)
    same, adjoints = answer = both(interpret(case.backward, *inputs))
    again, tangent = both(interpret(case.forward, *case.inputs, *case.changes))
    if not same_floats((again, same), (value, value)):
        yield "a derivative changes the value"
    forwards, backwards = dot(case.weights, tangent), dot(adjoints, case.changes)
    if not _agree(forwards, backwards):
        yield f"the modes differ: {forwards} forwards, {backwards} backwards"

    def weighted(*given: Any) -> float:
        found = interpret(plain, *given)
        shapes = [leaf.shape for leaf in floats_of(found)]
        if shapes != [leaf.shape for leaf in floats_of(case.weights)]:
            return float("nan")
        return dot(case.weights, found)

    def derivative(at: Differentiated) -> float:
        _, found = both(interpret(at.forward, *at.inputs, *at.changes))
        return dot(at.weights, found)

    yield from _differences(case, weighted, derivative)
    yield from check_second_order(case)
    yield from check_passes(case.backward, inputs, answer)
    if native:
        yield from check_native(case.backward, inputs, answer)


def check_second_order(case: Differentiated) -> Iterator[str]:
    """What is wrong with the derivative of the adjoints in the direction of the changes."""
    over_reverse = differentiated(case.backward, wrt=case.places, mode="tangent")

    def products_at(at: Differentiated) -> Any:
        _, (_, found) = both(interpret(over_reverse, *at.inputs, at.weights, *at.changes))
        return found

    products = products_at(case)
    over_forward = differentiated(case.forward, wrt=case.places, mode="adjoint")
    idle = with_floats(case.weights, np.zeros_like)
    _, others = both(interpret(over_forward, *case.inputs, *case.changes, (idle, case.weights)))
    if not same_floats(products, others):
        yield f"the orders differ: {products} forward over reverse, {others} reverse over forward"

    def adjoint(*given: Any) -> float:
        _, adjoints = both(interpret(case.backward, *given, case.weights))
        return dot(adjoints, case.changes)

    yield from _differences(case, adjoint, lambda at: dot(products_at(at), at.changes))


def _differences(
    case: Differentiated,
    value: Callable[..., float],
    derivative: Callable[[Differentiated], float],
) -> Iterator[str]:
    """Whether difference quotients are another derivative, where the value is smooth.

    They must be so at a point nearby, too: minimum(abs(x), x) has no kink at 0, but its parts have,
    and any of their subgradients makes a derivative there.
    """
    if _is_another(case, value, derivative) and _is_another(case.aside, value, derivative):
        slope, known = case.slope(value, STEP), derivative(case)
        yield f"differences give {slope}, derivatives {known}"


def _is_another(
    case: Differentiated,
    value: Callable[..., float],
    derivative: Callable[[Differentiated], float],
) -> bool:
    first, *others = (case.slope(value, step) for step in (STEP, -STEP, 2 * STEP))
    is_smooth = np.allclose(others, first, rtol=1e-4, atol=1e-4)
    return is_smooth and not np.isclose(derivative(case), first, rtol=1e-3, atol=1e-3)


def _agree(one: float, other: float) -> bool:
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True))


def _wide(module: Module, inputs: Sequence[Any]) -> tuple[Module, list[Any]]:
    """A program on numbers of 64 bits instead of 32."""

    def constant(node: Expr) -> Expr:
        if isinstance(node, Constant) and node.data.dtype == np.float32:
            return Constant(node.data.astype("float64"))
        return node

    text = rewrite_calls(module, constant).astext().replace("float32", "float64")
    wide = infer_types(parse(text))
    return wide, [with_floats(each, lambda leaf: leaf.astype("float64")) for each in inputs]


def _constants_as_inputs(module: Module, inputs: Sequence[Any]) -> tuple[Module, list[Any]]:
    """A program whose constants of floats in `main` are inputs, so that most of it changes."""
    main = module.main
    found: dict[Expr, Var] = {}
    for node in post_order(main.body):
        if isinstance(node, Constant) and node.data.dtype == np.float64:
            found[node] = Var(f"c{len(found)}", TensorType(node.data.shape, "float64"))
    body = rewrite(main.body, lambda node: found.get(node, node))
    new = type(main)((*main.params, *found.values()), body)
    values = [node.data for node in found if isinstance(node, Constant)]
    return infer_types(module.with_function("main", new)), [*inputs, *values]


def _is_float(type_: Any) -> bool:
    return isinstance(type_, TensorType) and type_.dtype == "float64"
