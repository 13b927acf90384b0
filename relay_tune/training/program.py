"""A training step as a program of Relay: one batch in, the loss and all new parameters out.

    def @main(%x, %target, %weight, %weight.velocity, %number: int64) {
      let %result = @gradient(%x, %target, %weight);        the loss, and its derivatives
      let %weight.velocity_1 = ..;
      (%result.0, %weight - .., %weight.velocity_1, %number + 1)
    }

Parameters and states are inputs that may be donated: new values may take the memory of old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.names import free_name
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.elements import wide_dtype
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.training.chosen_loss import check_own_loss, chosen_loss, loss_of
from relay_tune.training.losses import Loss
from relay_tune.training.optimisers import Optimiser, clipped, converted, element_type
from relay_tune.training.parameters import with_statistics
from relay_tune.training.random_numbers import with_numbered_keys
from relay_tune.training.slices import SlicedLoss, sliced_loss
from relay_tune.training.statistics import Statistic, moving_statistics, require_own_statistics
from relay_tune.training.summed_slices import summed_slices
from relay_tune.training.trained_inputs import with_trained_inputs
from relay_tune.transform.gradient.entry import differentiated
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.language.inline import Inline
from relay_tune.typing.infer import infer_types

GRADIENT = "gradient"
NUMBER = "number"
"""The input that counts steps, if no other one is called so."""

ALL_NODES = 10**9
"""Functions of any size are written where they are called."""


@dataclass(frozen=True)
class StepProgram:
    """A training step.

    Attributes:
        module: the program.
        batch: the names of its inputs that a batch consists of; the target, if any, is the last.
        parameters: the names of the trained ones.
        states: the names of what the optimiser keeps.
        statistics: the names of the moving statistics of normalisations.
        number: the name of the input that counts steps.
        slices: of the batch, one after the other.
    """

    module: Module
    batch: tuple[str, ...]
    parameters: tuple[str, ...]
    states: tuple[str, ...]
    statistics: tuple[str, ...]
    number: str
    slices: int = 1

    @property
    def passed_on(self) -> tuple[str, ...]:
        """The names of the inputs that a step returns anew behind its loss, in this order."""
        return (*self.parameters, *self.states, *self.statistics, self.number)


def step_program(
    network: Module,
    loss: str | Loss | None,
    optimiser: Optimiser,
    parameters: Iterable[str] | None = None,
    target: Type | None = None,
    clip: float | None = None,
    seed: int | None = None,
    slices: int = 1,
) -> StepProgram:
    """The program of a training step.

    Args:
        network: the program; its constants are trained, or those of its inputs that are named.
        loss: the name of one of LOSSES, or loss(output, target) of two expressions, a scalar;
            None: the network's own result, without a target.
        optimiser: how gradients change parameters.
        parameters: the names of constants and inputs that are trained; None: all constants.
        target: the type of the target; None: as the loss wants it, or that of the output.
        clip: the largest common norm of all gradients.
        seed: of random numbers; with one, dropout drops.
        slices: of the batch, whose gradients are added up.

    Raises InputError where these do not fit, RelayError where there is no derivative.
    """
    opened, chosen = with_trained_inputs(network, parameters)
    data = {param.name for param in opened.main.params}.difference(chosen)
    require_own_statistics(opened.main.body)
    typed = ToGraphNormalForm()(with_statistics(opened))
    others = [param.name for param in typed.main.params if param.name not in data]
    number = _counter([*data, *others])
    typed = infer_types(with_numbered_keys(typed, number, seed))
    statistics = moving_statistics(typed.main.body, others)
    moving = {each.name for each in statistics}
    names = tuple(name for name in chosen if name not in moving)
    batch, trained = _lossy(typed, sorted(data), statistics, loss, target)
    mode = "adjoint" if statistics else "gradient"
    sliced = None if slices == 1 else _sliced(trained, batch, statistics, slices)
    found = differentiated(sliced.module if sliced else trained, wrt=list(names), mode=mode)
    params = {e.name: number if e.name == number.name else _typed(e) for e in trained.main.params}
    asked = _asked(found, sliced, params, statistics)
    made = _with_updates(asked, batch, names, statistics, number, optimiser, clip)
    return replace(made, slices=slices)


def _sliced(
    trained: Module, batch: Collection[str], statistics: Sequence[Statistic], slices: int
) -> SlicedLoss:
    """The loss of one of so many slices of a batch; InputError where there is none."""
    if statistics:
        raise InputError(
            f"The step cannot be made of {slices} slices of the batch: the network normalises by "
            "the statistics of the whole batch.",
            remedy="Omit slices, or export the network for inference, with moving statistics.",
        )
    return sliced_loss(trained, batch, slices)


@dataclass(frozen=True)
class _Asked:
    """What computes the loss and the gradients of a batch.

    Attributes:
        module: has the functions that do.
        value: the loss and the gradients, an expression of the inputs.
        type: of the value.
        params: the inputs, by name.
    """

    module: Module
    value: Expr
    type: TupleType
    params: Mapping[str, Var]


def _asked(
    found: Module,
    sliced: SlicedLoss | None,
    params: Mapping[str, Var],
    statistics: Sequence[Statistic],
) -> _Asked:
    """The gradients of a batch, of whose loss, or that of a slice, `found` has them."""
    module = replace(found, functions={**found.functions, GRADIENT: found.main}, attributes={})
    if sliced is not None:
        summed = summed_slices(found, sliced, GRADIENT, params)
        module = replace(module, functions={**module.functions, **summed.functions})
        return _Asked(module, summed.value, summed.type, params)
    type_ = found.main.body.type
    assert isinstance(type_, TupleType)
    seed = _seed(type_.fields[0], [params[each.name] for each in statistics])
    return _Asked(module, Call(GlobalVar(GRADIENT), (*params.values(), *seed)), type_, params)


def _lossy(
    network: Module,
    data: Collection[str],
    statistics: Sequence[Statistic],
    loss: str | Loss | None,
    target: Type | None,
) -> tuple[tuple[str, ...], Module]:
    """The names of a batch's inputs, and the program that computes the loss of a batch.

    Where there are statistics it returns them behind the loss.
    """
    main = network.main
    result = main.body.type
    output = Var("output", result, type=result)
    inputs = [param for param in main.params if param.name in data]
    rest = [param for param in main.params if param.name not in data]
    value: Expr = output
    if loss is None:
        check_own_loss(result)
    else:
        compute, wanted = chosen_loss(loss, result, target)
        label = free_name("target", {param.name for param in main.params})
        inputs.append(Var(label, wanted, type=wanted))
        value = loss_of(compute, output, inputs[-1])
    body = _with_statistics(main.body, output, value, statistics)
    function = Function((*inputs, *rest), body)
    return tuple(each.name for each in inputs), network.with_function("main", function)


def _with_statistics(body: Expr, output: Var, loss: Expr, statistics: Sequence[Statistic]) -> Expr:
    """The loss of what a body returns, with the statistics that it computes on the way."""
    if not statistics:
        return Let(output, body, loss)
    results = Var("results")
    values: list[Expr] = [TupleGetItem(results, 1 + index) for index in range(len(statistics))]
    together = _at_end(body, lambda end: Tuple((end, *(each.value for each in statistics))))
    return Let(results, together, Let(output, TupleGetItem(results, 0), Tuple((loss, *values))))


def _at_end(value: Expr, following: Callable[[Expr], Expr]) -> Expr:
    """What follows a value, inside of what the value binds to names."""
    bindings = []
    while isinstance(value, Let):
        bindings.append((value.var, value.value))
        value = value.body
    found = following(value)
    for var, bound in reversed(bindings):
        found = Let(var, bound, found)
    return found


def _counter(taken: Collection[str]) -> Var:
    """The variable of a step's number."""
    type_ = TensorType((), "int64")
    return Var(free_name(NUMBER, taken), type_, type=type_)


def _with_updates(
    asked: _Asked,
    batch: tuple[str, ...],
    names: tuple[str, ...],
    statistics: Sequence[Statistic],
    number: Var,
    optimiser: Optimiser,
    clip: float | None,
) -> StepProgram:
    """The program that computes gradients, with what the optimiser makes of them."""
    params, gradient_type = asked.params, asked.type
    states = {
        f"{name}.{kind}": _state(f"{name}.{kind}", params[name])
        for kind in optimiser.states
        for name in names
    }
    result = Var("result", gradient_type, type=gradient_type)
    gradients = [_wide(each) for each in _gradients(result, gradient_type)]
    if clip is not None:
        gradients = clipped(gradients, clip)
    values: dict[str, Expr] = {}
    for name, gradient in zip(names, gradients, strict=True):
        kept = [states[f"{name}.{kind}"] for kind in optimiser.states]
        step = converted(number, element_type(gradient))
        value, new = optimiser.updated(_wide(params[name]), gradient, kept, step)
        values[name] = converted(value, element_type(params[name]))
        values |= {f"{name}.{k}": v for k, v in zip(optimiser.states, new, strict=True)}
    loss, *measured = _fields(TupleGetItem(result, 0, type=gradient_type.fields[0]))
    old = [params[each.name] for each in statistics]
    moving = {each.name: each for each in old}
    followed: dict[str, Expr] = {**moving}
    for each, value in zip(statistics, measured, strict=True):
        followed[each.name] = each.following(followed[each.name], value)
    following = call("add", number, constant_of(np.asarray(1, dtype=np.int64)))
    outputs = [*(values[each] for each in (*names, *states)), *followed.values(), following]
    body = _at_end(asked.value, lambda end: Let(result, end, Tuple((loss, *outputs))))
    later = {*moving, number.name}
    ordinary = [param for name, param in params.items() if name not in later]
    inputs = (*ordinary, *states.values(), *moving.values(), number)
    whole = infer_types(asked.module.with_function("main", Function(inputs, body)))
    written = Inline(maximum_size=ALL_NODES)(whole)
    return StepProgram(written, batch, names, tuple(states), tuple(moving), number.name)


def _fields(value: TupleGetItem) -> list[Expr]:
    """The fields of a tuple; a value that is no tuple alone."""
    if not isinstance(value.type, TupleType):
        return [value]
    return [TupleGetItem(value, index, type=each) for index, each in enumerate(value.type.fields)]


def _seed(values: Type, statistics: Sequence[Var]) -> list[Expr]:
    """The adjoint of a loss with statistics, which have none; their types are those of a tuple."""
    if not isinstance(values, TupleType):
        return []
    (loss, *_) = values.fields
    assert isinstance(loss, TensorType)
    one = constant_of(np.ones((), dtype=loss.dtype))
    return [Tuple((one, *(call("zeros_like", each) for each in statistics)))]


def _gradients(result: Var, type_: TupleType) -> list[Expr]:
    each = type_.fields[1]
    assert isinstance(each, TupleType)
    all_ = TupleGetItem(result, 1, type=each)
    return [TupleGetItem(all_, index, type=part) for index, part in enumerate(each.fields)]


def _wide(value: Expr) -> Expr:
    """A parameter or gradient as the optimiser gets it."""
    return converted(value, wide_dtype(element_type(value)))


def _state(name: str, parameter: Var) -> Var:
    """The variable of what the optimiser keeps of a parameter."""
    type_ = parameter.annotation or parameter.type
    assert isinstance(type_, TensorType)
    wide = replace(type_, dtype=wide_dtype(type_.dtype))
    return Var(name, wide, type=wide)


def _typed(param: Var) -> Var:
    """A new variable of the same name and type."""
    type_ = param.annotation or param.type
    return Var(param.name, type_, type=type_)
