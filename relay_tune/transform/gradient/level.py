"""The derivatives of functions that ask for none themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.trampoline import run
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.gradient.expressions import one
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.op_rules.matching import attributes_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.activity import Activity
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import AdjointValues, UserValues
from relay_tune.transform.gradient.block_code import Knowledge
from relay_tune.transform.gradient.calls import differentiated_with, reachable
from relay_tune.transform.gradient.cells import holds_floats, with_pairs
from relay_tune.transform.gradient.checkpoints import checkpoints
from relay_tune.transform.gradient.constructors import Definitions
from relay_tune.transform.gradient.forward import Forward
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.reverse import Reverse
from relay_tune.transform.gradient.ruled import ruled_functions
from relay_tune.transform.gradient.stand_ins import is_stand_in
from relay_tune.transform.gradient.swept import substituted
from relay_tune.transform.gradient.tapes import Tapes
from relay_tune.transform.gradient.told_types import with_told_types
from relay_tune.transform.gradient.typed_nodes import let_block, tuple_of
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.typing.infer import infer_types


@dataclass(frozen=True)
class _Request:
    """A function that stands for a derivative.

    Attributes:
        name: its name.
        function: itself.
        body: what is differentiated, in its parameters.
        wrt: the variables with regard to which it is.
        given: adjoints or tangents that it is given.
        mode: as the operator `derivative` has it.
    """

    name: str
    function: Function
    body: Expr
    wrt: tuple[Var, ...]
    given: tuple[Expr, ...]
    mode: str


def differentiated(module: Module, names: Sequence[str]) -> tuple[Module, set[str]]:
    """The module with the functions `names`, which stand for derivatives, made programs.

    Also the names of the functions that compute those with checkpoints again.
    """
    free = Names.of(module)
    types = AdjointTypes(module.types, free)
    values, tapes = AdjointValues(types, free), Tapes(free)
    module = _prepared(module, names, values)
    requests = [_request(module, name) for name in names]
    ruled = ruled_functions(module)
    activity = Activity(module.functions, types, ruled)
    activity.spread(
        [each.body for each in requests], {var for each in requests for var in each.wrt}
    )
    user = UserValues(values)
    known, kept = Knowledge(types, user, activity, tapes), checkpoints(module)
    reverse = Reverse(module.functions, known, free, ruled, kept)
    forward = Forward(module.functions, types, user, activity, free, ruled, kept)
    found = {
        each.name: _forward(forward, user, each)
        if each.mode == "tangent"
        else _reverse(reverse, user, each)
        for each in requests
    }
    added = {**found, **reverse.functions, **forward.functions, **values.functions}
    data = {**module.types, **types.definitions(), **tapes.definitions()}
    constructors = Definitions(data)
    functions = {
        name: constructors.function(_own_copy(tapes.function(function)))
        for name, function in added.items()
    }
    made = replace(module, functions={**module.functions, **functions}, types=data)
    return made, reverse.recomputing


def _prepared(module: Module, names: Sequence[str], values: AdjointValues) -> Module:
    """The typed module with what is differentiated in A-normal form, and pairs of cells in it;
    types change at bindings of atoms only."""
    used = {each for name in names for each in {name} | differentiated_with(module, name)}
    functions = {name: each for name, each in module.functions.items() if name in used}
    nodes = post_order(*functions.values())
    if any(holds_floats(node, values.types) for node in nodes):
        paired = with_pairs(module, values)
        types = {**paired.types, **values.types.definitions()}
        module = infer_types(replace(paired, types=types))
        functions = {name: each for name, each in module.functions.items() if name in used}
    named = ToANormalForm()(replace(module, functions=functions))
    told = {name: with_told_types(each) for name, each in named.functions.items()}
    return replace(module, functions={**module.functions, **told})


def _reverse(reverse: Reverse, user: UserValues, request: _Request) -> Function:
    """A derivative in reverse mode: forward and backward code in one scope."""
    result = request.body
    while isinstance(result, Let):
        result = result.body
    given: Adjoint = user.taken(request.given[0]) if request.given else one(result)
    swept = run(reverse.block(request.name, request.body, given))
    adjoints = [user.given(swept.adjoints.get(var), var) for var in request.wrt]
    returned = tuple_of((swept.result, tuple_of(adjoints)))
    body = let_block([*swept.bindings, *swept.backward], returned)
    return replace(request.function, body=body, result_type=None, type=None)


def _forward(forward: Forward, user: UserValues, request: _Request) -> Function:
    """A derivative in forward mode."""
    for var, given in zip(request.wrt, request.given, strict=True):
        forward.tangents[var] = user.taken(given)
    carried = run(forward.block(request.body))
    tangent = user.given(carried.tangent, carried.result)
    body = let_block(carried.bindings, tuple_of((carried.result, tangent)))
    return replace(request.function, body=body, result_type=None, type=None)


def _request(module: Module, name: str) -> _Request:
    """Read a function that stands for a derivative, in A-normal form."""
    function = module[name]
    values: dict[Expr, Expr] = {}
    body = function.body
    while isinstance(body, Let):
        values[body.var] = body.value
        body = body.body
    assert isinstance(body, Call)
    value, arguments, given = (values.get(part, part) for part in body.arguments)
    assert isinstance(arguments, Tuple) and isinstance(given, Tuple)
    attributes = attributes_of(body)
    chosen = (arguments.fields[index] for index in attributes.wrt)
    return _Request(
        name,
        function,
        _inlined(module, value),
        tuple(var for var in chosen if isinstance(var, Var)),
        given.fields,
        attributes.mode,
    )


def _inlined(module: Module, call: Expr) -> Expr:
    """The body of the function that is called, in the arguments of the call; if it calls itself
    or stands for another one, the call."""
    assert isinstance(call, Call) and isinstance(call.callee, GlobalVar), call
    name = call.callee.name
    if name in reachable(module, name) or is_stand_in(module[name]):
        return call
    callee = module[name]
    return substituted(callee.body, dict(zip(callee.params, call.arguments, strict=True)))


def _own_copy(function: Function) -> Function:
    copy = fresh_copy(function)
    assert isinstance(copy, Function)
    return copy
