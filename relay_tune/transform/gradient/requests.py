"""Where derivatives are asked for, and the functions of the module that will compute them.

before:
    def @main(%x: float32, %y: float32) {
      %0 = fn (%a: float32) { multiply(%a, %y) };
      %1 = grad(%0);
      %1(%x)
    }

after:
    def @main(%x: float32, %y: float32) {
      @main_function_gradient(%y, %x)
    }

    def @main_function(%y: float32, %a: float32) { multiply(%a, %y) }

    def @main_function_gradient(%y: float32, %a: float32) {
      %0 = @main_function(%y, %a);
      derivative(%0, (%y, %a), (), wrt=[1], mode="gradient")
    }

A function that is not written out is a parameter of the one that is added. A function with a rule
of its own, `custom_vjp(@f, ..)`, becomes one of the module, too (`added_rules.py`), and so does one
that is computed again, `checkpoint(@f)` (`checkpoints.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.traversal import free_vars, post_order, rewrite_with_original, use_counts
from relay_tune.ir.types import FuncType, Type
from relay_tune.op_rules.gradient.requests import CHECKPOINT, REQUESTS, RULES
from relay_tune.op_rules.matching import attributes_of, is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.added_rules import (
    AddedRule,
    Pullback,
    Rule,
    Target,
    TypedTarget,
    checkpoint_function,
)
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.typed_nodes import Binding, let_block, type_of
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.infer import infer_types

ENDINGS: Mapping[str, str] = {
    "gradient": "gradient",
    "adjoint": "pullback",
    "tangent": "pushforward",
}
"""How the names of functions end that compute derivatives in each mode."""


def has_requests(module: Module) -> bool:
    """Whether a derivative is asked for anywhere, or a function has a rule or checkpoint for it."""
    return any(map(_is_asked, post_order(*module.functions.values())))


def with_derivatives(module: Module, names: Names) -> Module:
    """The typed module in which derivatives are calls of functions of the module."""
    nodes = post_order(*module.functions.values())
    modes = frozenset(mode for node in nodes if (mode := REQUESTS.rule_of(node)) is not None)
    requests = _Requests(names, module.functions, modes)
    functions = {
        name: function if function.is_primitive else requests.replaced(name, function)
        for name, function in module.functions.items()
    }
    return infer_types(replace(module, functions={**functions, **requests.functions}))


@dataclass
class _Requests:
    """Replaces requests in functions; `functions` are those that it adds."""

    names: Names
    source: Mapping[str, Function]
    modes: frozenset[str]
    functions: dict[str, Function] = field(default_factory=dict)
    _made: dict[tuple[str, tuple[int, ...], str], str] = field(default_factory=dict)
    _closures: dict[Expr, Target] = field(default_factory=dict)
    """Closures that were put in place of requests."""
    _rules: dict[str, Rule] = field(default_factory=dict)
    """Of functions with rules, by the names of those that stand for them."""

    def replaced(self, name: str, function: Function) -> Function:
        """A function without requests."""
        nodes = list(post_order(function.body, enter=lambda node: not is_opaque_function(node)))
        if not any(map(_is_asked, nodes)):
            return function
        variables = {node.value: node.var for node in nodes if isinstance(node, Let)}
        values: dict[Var, Expr] = {}

        def visit(original: Expr, node: Expr) -> Expr:
            mode = REQUESTS.rule_of(original)
            if mode is not None and isinstance(node, Call):
                node = self._request(name, original, node, mode, values)
            elif isinstance(node, Call) and RULES.rule_of(original) is not None:
                node = self._with_rule(name, original, node, values)
            elif isinstance(node, Call) and CHECKPOINT.rule_of(original) is not None:
                node = self._with_checkpoint(name, original, node, values)
            elif isinstance(node, Call):
                node = self._direct(node, values)
            if original in variables:
                values[variables[original]] = node
            return node

        body = rewrite_with_original(
            function.body, visit, enter=lambda node: not is_opaque_function(node)
        )
        return with_body(function, _without_unused_functions(body))

    def _direct(self, call: Call, values: Mapping[Var, Expr]) -> Expr:
        """A call of a closure that stands for a derivative calls the function itself."""
        callee = call.callee
        if isinstance(callee, Var) and callee in values:
            callee = values[callee]
        target = self._closures.get(callee)
        if target is not None:
            return replace(
                call,
                callee=GlobalVar(target.name, span=call.callee.span),
                arguments=(*target.captured, *call.arguments),
            )
        return replace(call, callee=callee) if isinstance(callee, GlobalVar) else call

    def _request(
        self, owner: str, original: Expr, node: Call, mode: str, values: Mapping[Var, Expr]
    ) -> Expr:
        assert isinstance(original, Call)
        type_ = type_of(original.arguments[0])
        assert isinstance(type_, FuncType)
        wrt = attributes_of(node).wrt
        chosen = tuple(range(len(type_.params))) if wrt is None else wrt
        outer: list[Binding] = []
        target = self._target(owner, node.arguments[0], type_, values, outer)
        return let_block(outer, self._closure(owner, target, type_, chosen, mode, node))

    def _target(
        self,
        owner: str,
        given: Expr,
        type_: FuncType,
        values: Mapping[Var, Expr],
        outer: list[Binding],
    ) -> Target:
        """A function as one of the module; `outer` gets a name for what has none."""
        value = values.get(given, given) if isinstance(given, Var) else given
        if isinstance(value, GlobalVar):
            return Target(value.name)
        if value in self._closures:
            return self._closures[value]
        if isinstance(value, Function) and given not in free_vars(value):
            return self._lifted(owner, value, type_)
        if not is_atom(given):
            outer.append((Var("f", type_, type=type_), given))
            given = outer[-1][0]
        assert isinstance(given, Var)
        return Target(self._caller(owner, type_), (given,))

    def _with_rule(
        self, owner: str, original: Expr, node: Call, values: Mapping[Var, Expr]
    ) -> Expr:
        """A function with a rule."""
        assert isinstance(original, Call)
        types = [type_of(each) for each in original.arguments]
        outer: list[Binding] = []
        parts = [
            TypedTarget(self._target(owner, each, type_, values, outer), type_)
            for each, type_ in zip(node.arguments, types, strict=True)
            if isinstance(type_, FuncType)
        ]
        known = self._rules.get(parts[0].target.name) or Rule(parts[0])
        rule = known.with_functions(RULES.rule_of(original) or "", parts[1:])
        target = self._ruled(rule, node)
        return let_block(outer, self._stand_in(target, rule.value.type, node))

    def _with_checkpoint(
        self, owner: str, original: Expr, node: Call, values: Mapping[Var, Expr]
    ) -> Expr:
        """A function that is computed again."""
        assert isinstance(original, Call)
        type_ = type_of(original.arguments[0])
        assert isinstance(type_, FuncType)
        outer: list[Binding] = []
        target = self._target(owner, node.arguments[0], type_, values, outer)
        name = self.names.new(f"{target.name}_checkpoint")
        self.functions[name] = checkpoint_function(target, type_, node)
        return let_block(outer, self._stand_in(replace(target, name=name), type_, node))

    def _stand_in(self, target: Target, type_: FuncType, node: Call) -> Expr:
        """A function that stands for another one, as a value."""
        if not target.captured:
            return GlobalVar(target.name, span=node.span)
        params = tuple(Var(f"p{n}", part) for n, part in enumerate(type_.params))
        closure = Function(params, Call(GlobalVar(target.name), (*target.captured, *params)))
        self._closures[closure] = target
        return closure

    def _ruled(self, rule: Rule, node: Call) -> Target:
        """The function of the module that stands for one with a rule."""
        name = self.names.new(f"{rule.value.target.name}_ruled")
        added = AddedRule(rule, name, self.names, self._pullback(node))
        whole = added.completed(self.modes)
        target = Target(name, whole.captured())
        self.functions.update(added.functions)
        self.functions[name] = whole.function(node)
        self._rules[name] = whole
        return target

    def _pullback(self, node: Call) -> Pullback:
        """What names the function of the module that computes adjoints of another one."""

        def named(target: TypedTarget, wrt: tuple[int, ...]) -> str:
            count = len(target.target.captured)
            indices = tuple(index + count for index in wrt)
            return self._function(target.target, target.type, indices, "adjoint", node)

        return named

    def _closure(
        self,
        owner: str,
        target: Target,
        type_: FuncType,
        chosen: tuple[int, ...],
        mode: str,
        node: Call,
    ) -> Expr:
        """The derivative as a value."""
        count = len(target.captured)
        wrt = tuple(index + count for index in chosen)
        made = self._function(target, type_, wrt, mode, node)
        if not count:
            return GlobalVar(made, span=node.span)
        wanted = _parameter_types(type_, chosen, mode)
        params = tuple(Var(f"p{index}", part) for index, part in enumerate(wanted))
        closure = Function(params, Call(GlobalVar(made), (*target.captured, *params)))
        self._closures[closure] = Target(made, target.captured)
        return closure

    def _function(
        self, target: Target, type_: FuncType, wrt: tuple[int, ...], mode: str, node: Call
    ) -> str:
        """The function that computes a derivative."""
        key = (target.name, wrt, mode)
        if key in self._made:
            return self._made[key]
        name = self._made[key] = self.names.new(f"{target.name}_{ENDINGS[mode]}")
        captured = tuple(Var(var.name, type_of(var)) for var in target.captured)
        source = self.functions.get(target.name, self.source.get(target.name))
        names = [f"p{index}" for index in range(len(type_.params))]
        if source is not None and len(source.params) == len(captured) + len(names):
            names = [param.name for param in source.params[len(captured) :]]
        params = [Var(each, part) for each, part in zip(names, type_.params, strict=True)]
        extra = _extra_types(type_, tuple(index - len(captured) for index in wrt), mode)
        given = [Var(f"d{index}", part) for index, part in enumerate(extra)]
        arguments = (*captured, *params)
        value = Call(GlobalVar(target.name), arguments, span=node.span)
        operator = find_operator("derivative")
        assert operator is not None
        body = operator(value, Tuple(arguments), Tuple(tuple(given)), wrt=wrt, mode=mode)
        body = replace(body, span=node.span)
        self.functions[name] = Function((*arguments, *given), body, span=node.span)
        return name

    def _lifted(self, owner: str, function: Function, type_: FuncType) -> Target:
        """A closure as a function of the module, which takes what it captured."""
        captured = free_vars(function)
        params = tuple(Var(var.name, type_of(var)) for var in captured)
        own = tuple(
            Var(param.name, part) for param, part in zip(function.params, type_.params, strict=True)
        )
        values: dict[Var, Expr] = dict(zip(captured, params, strict=True))
        values.update(zip(function.params, own, strict=True))
        name = self.names.new(f"{owner}_function")
        body = fresh_copy(function.body, values)
        self.functions[name] = Function((*params, *own), body, span=function.span)
        return Target(name, captured)

    def _caller(self, owner: str, type_: FuncType) -> str:
        """A function that calls the function that it is given."""
        name = self.names.new(f"{owner}_call")
        function = Var("f", type_)
        params = tuple(Var(f"p{index}", part) for index, part in enumerate(type_.params))
        body = Call(function, params)
        self.functions[name] = Function((function, *params), body, type_.result)
        return name


def _is_asked(node: Expr) -> bool:
    tables = (REQUESTS, RULES, CHECKPOINT)
    return any(table.rule_of(node) is not None for table in tables)


def _parameter_types(type_: FuncType, chosen: tuple[int, ...], mode: str) -> tuple[Type, ...]:
    return (*type_.params, *_extra_types(type_, chosen, mode))


def _extra_types(type_: FuncType, chosen: tuple[int, ...], mode: str) -> tuple[Type, ...]:
    """The types of the adjoint, or the tangents, that a derivative is given."""
    match mode:
        case "adjoint":
            return (type_.result,)
        case "tangent":
            return tuple(type_.params[index] for index in chosen)
        case _:
            return ()


def _without_unused_functions(body: Expr) -> Expr:
    """Without names for functions that nobody uses any more."""
    used = use_counts(body)

    def visit(_: Expr, node: Expr) -> Expr:
        if isinstance(node, Let) and isinstance(node.value, Function | GlobalVar):
            return node if node.var in used else node.body
        return node

    return rewrite_with_original(body, visit)
