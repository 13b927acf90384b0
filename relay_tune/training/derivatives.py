"""Derivatives of programs written in Python, in Relay or in ONNX: programs again.

    @rt.relay
    def energy(x: "Tensor[(3), float32]"):
        return np.sum(x * x * x)

    rt.interpret(rt.grad(energy), x)                     (3 x^2,)
    rt.build(rt.value_and_grad(energy))(x)               the energy, and (3 x^2,)

A program that is differentiated returns a number, except by `vjp` and `jvp`. In functions under
@relay they take functions, and mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.arguments import instance_of
from relay_tune.frontend.python.derivative_calls import in_programs
from relay_tune.frontend.python.relay_function import RelayFunction
from relay_tune.ir.expr import Function, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.training.parameters import no_parameter, parameters_of, scalars_of, with_parameters
from relay_tune.transform.gradient.entry import differentiated
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.infer import infer_types

Program = Module | RelayFunction | Function
"""Programs to differentiate: a module's @main, a Python function under @relay, a function."""

Chosen = int | str | Iterable[int | str] | None
"""Parameters by index or name, or constants by name (`rt.training.parameters_of`); None: all
parameters."""


@in_programs("grad")
def value_and_grad(program: Program, wrt: Chosen = None) -> Module:
    """The program that returns (value, (derivative with regard to each chosen parameter, ..)).

    Constants that are named become parameters, behind the others. Raises InputError for a name
    that there is not, RelayError where something has no derivative.
    """
    module, indices = _opened(program, wrt)
    return differentiated(module, wrt=indices, keep_rules=True)


@in_programs("grad", fields=(1,))
def grad(program: Program, wrt: Chosen = None) -> Module:
    """The program that returns the derivatives alone; see `value_and_grad`."""
    module = value_and_grad(program, wrt)
    main = module.main
    gradients = with_body(main, TupleGetItem(main.body, 1))
    return infer_types(module.with_function("main", _of_new_type(gradients)))


@in_programs("vjp")
def vjp(program: Program, wrt: Chosen = None) -> Module:
    """The program that takes the adjoint of its result as well, and returns (result, adjoints).

    It is the product of a vector with the Jacobian of the program.
    """
    module, indices = _opened(program, wrt)
    return differentiated(module, wrt=indices, mode="adjoint", keep_rules=True)


@in_programs("jvp")
def jvp(program: Program, wrt: Chosen = None) -> Module:
    """The program that takes tangents of the chosen parameters as well, behind all parameters.

    It returns (result, tangent of the result): the product of the Jacobian with a vector.
    """
    module, indices = _opened(program, wrt)
    return differentiated(module, wrt=indices, mode="tangent", keep_rules=True)


@in_programs("grad", "jvp", fields=(1, 1))
def hessian_vector(program: Program, wrt: Chosen = None) -> Module:
    """The program that takes a vector for each chosen parameter, and returns (H v, ..).

    The Hessian H is that of a number: forward mode of reverse mode (B. Pearlmutter, "Fast Exact
    Multiplication by the Hessian", 1994, section 3).
    """
    module, indices = _opened(program, wrt)
    slopes = grad(module, indices)
    changed = differentiated(slopes, wrt=indices, mode="tangent", keep_rules=True)
    main = changed.main
    return infer_types(
        changed.with_function("main", _of_new_type(with_body(main, TupleGetItem(main.body, 1))))
    )


def _opened(program: Program, wrt: Chosen) -> tuple[Module, Sequence[int | str] | None]:
    """The typed program in which all that is chosen is a parameter."""
    module = _module(program)
    if wrt is None:
        return module, None
    chosen = [wrt] if isinstance(wrt, int | str) else list(wrt)
    params = {param.name for param in module.main.params}
    constants = {**parameters_of(module), **scalars_of(module)}
    named = [name for name in chosen if isinstance(name, str) and name not in params]
    for name in named:
        if name not in constants:
            raise no_parameter(name, [*(param.name for param in module.main.params), *constants])
    return (with_parameters(module, named) if named else module), chosen


def _module(program: Program) -> Module:
    if isinstance(program, RelayFunction):
        return program.module
    if isinstance(program, Function):
        return infer_types(Module({"main": program}))
    instance_of(Module, program, "The program", "Give a module, or a function under @relay.")
    return infer_types(program)


def _of_new_type(function: Function) -> Function:
    """A function whose result is to be inferred anew."""
    return Function(function.params, function.body, None, function.type_params, function.attributes)
