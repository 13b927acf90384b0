"""Modules whose entry computes a derivative, for programs in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import FuncType
from relay_tune.op_rules.gradient.requests import REQUESTS
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.infer import infer_types


def differentiated(
    module: Module,
    function: str = "main",
    wrt: Sequence[int | str] | None = None,
    mode: str = "gradient",
    keep_rules: bool = False,
) -> Module:
    """The typed module whose `main` computes what `function` does, and its derivative.

    Args:
        module: a program, with types or without.
        function: the name of the function.
        wrt: the parameters with regard to which it is differentiated, by index or name; None: all.
        mode: "gradient": main returns (value, (gradients ..)); "adjoint": it takes the adjoint of
            the value as well; "tangent": it takes tangents, and returns (value, tangent).
        keep_rules: whether functions keep rules of their own, for derivatives of the module.

    Raises InputError for a parameter that there is not, RelayError where there is no derivative.
    """
    modes = {_mode(name): name for name in REQUESTS.operators()}
    if mode not in modes:
        raise InputError(
            f"There is no derivative in the mode {mode!r}.",
            remedy=did_you_mean(mode, modes, "Give one of: gradient, adjoint, tangent."),
        )
    typed = infer_types(module)
    indices = None if wrt is None else tuple(_index(typed[function], each) for each in wrt)
    names = Names.of(typed)
    inner = function
    if function == "main":
        inner = names.new("value")
        typed = _with_other_name(typed, function, inner)
    operator = find_operator(modes[mode])
    assert operator is not None
    asked = operator(GlobalVar(inner), wrt=indices)
    type_ = typed[inner].type
    assert isinstance(type_, FuncType)
    params = [Var(param.name, param.annotation or param.type) for param in typed[inner].params]
    if mode == "adjoint":
        params.append(Var("adjoint", type_.result))
    if mode == "tangent":
        chosen = range(len(type_.params)) if indices is None else indices
        params += [Var(f"d_{params[index].name}", type_.params[index]) for index in chosen]
    main = Function(tuple(params), Call(asked, tuple(params)))
    return Differentiate(keep_rules)(infer_types(typed.with_function("main", main)))


def _mode(name: str) -> str:
    operator = find_operator(name)
    assert operator is not None
    return REQUESTS.rule_of(Call(operator, ())) or ""


def _index(function: Function, parameter: int | str) -> int:
    names = [param.name for param in function.params]
    if isinstance(parameter, int) and 0 <= parameter < len(names):
        return parameter
    if isinstance(parameter, str) and parameter in names:
        return names.index(parameter)
    raise InputError(
        f"The function has no parameter {parameter!r}.",
        notes=(f"Its parameters are: {', '.join(names)}.",),
        remedy="Name one of these, or count them from 0.",
    )


def _with_other_name(module: Module, old: str, new: str) -> Module:
    def visit(node: Expr) -> Expr:
        if isinstance(node, GlobalVar) and node.name == old:
            return replace(node, name=new)
        return node

    functions = {
        new if name == old else name: with_body(each, rewrite(each.body, visit))
        for name, each in module.functions.items()
    }
    return replace(module, functions=functions)
