"""Activity analysis: values that depend on what a program is differentiated with regard to.

What does not is constant for the derivative: no adjoint of it is computed. What a cell holds is
taken to change. The analysis follows calls; a function has one answer for all of its calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from relay_tune.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
)
from relay_tune.ir.reached import reached
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import children, pattern_vars, post_order
from relay_tune.op_rules.gradient.table import GRADIENT
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.cells import holds_floats
from relay_tune.transform.gradient.ruled import RuledFunction
from relay_tune.transform.gradient.typed_nodes import type_of
from relay_tune.typing.call_graph import used_globals

Finding = Recursive[bool]


@dataclass
class Activity:
    """Activity of the variables of a module's functions, in A-normal form.

    Attributes:
        variables: those that change.
        params: the indices of the parameters of each function that change in some call.
        ruled: the functions with rules of their own, which are not looked into.
        results: the functions whose results change.
        with_cells: the functions in which cells with floats are created, read or written.
    """

    functions: Mapping[str, Function]
    types: AdjointTypes
    ruled: Mapping[str, RuledFunction] = field(default_factory=dict)
    variables: set[Var] = field(default_factory=set)
    params: dict[str, set[int]] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    with_cells: set[str] = field(default_factory=set)
    _callers: dict[str, set[str]] = field(default_factory=dict)
    _pending: deque[str] = field(default_factory=deque)

    def spread(self, bodies: Iterable[Expr], active: Collection[Var]) -> None:
        """Follow what changes from variables through bodies and the functions that they call."""
        bodies = tuple(bodies)
        self._find_cells(bodies)
        self.variables.update(active)
        before = -1
        while before < len(self.variables):
            before = len(self.variables)
            for body in bodies:
                self._follow(None, body)
            while self._pending:
                name = self._pending.popleft()
                self._follow(name, self.functions[name].body)

    def is_active(self, atom: Expr) -> bool:
        """Whether a value changes."""
        return isinstance(atom, Var) and atom in self.variables

    def add(self, var: Var) -> None:
        """Count a variable among those that change, if it can have an adjoint."""
        if self.types.has_adjoint(type_of(var)):
            self.variables.add(var)

    def active_params(self, name: str) -> tuple[int, ...]:
        """The parameters of a function that change in some call, in order."""
        return tuple(sorted(self.params.get(name, ())))

    def has_work(self, node: Expr) -> bool:
        """Whether evaluating `node` accesses cells with floats, whatever it gives."""
        return any(self._touches(part) for part in post_order(node))

    def _touches(self, node: Expr) -> bool:
        match node:
            case Call(callee=GlobalVar(name=name)):
                return name in self.with_cells
            case RefCreate() | RefRead() | RefWrite():
                return holds_floats(node, self.types)
            case _:
                return False

    def _find_cells(self, bodies: Iterable[Expr]) -> None:
        """Functions reached from `bodies` that touch cells, themselves or through others."""
        uses: dict[str, tuple[str, ...]] = {}
        pending = [name for body in bodies for name in used_globals(body)]
        while pending:
            name = pending.pop()
            if name not in uses and name in self.functions:
                uses[name] = () if name in self.ruled else used_globals(self.functions[name])
                pending += uses[name]
        callers: dict[str, list[str]] = {}
        for name, used in uses.items():
            for callee in used:
                callers.setdefault(callee, []).append(name)
        holders = [
            name
            for name in uses
            if any(holds_floats(node, self.types) for node in post_order(self.functions[name]))
        ]
        self.with_cells.update(reached(holders, lambda name: callers.get(name, ())))

    def _follow(self, name: str | None, body: Expr) -> None:
        """Look at one body; those who call a function look again where its result changes."""
        if name is not None:
            function = self.functions[name]
            self.variables.update(function.params[i] for i in self.params.get(name, ()))
        changes = run(self._block(name, body))
        if name is not None and changes and name not in self.results:
            self.results.add(name)
            self._pending.extend(sorted(self._callers.get(name, ())))

    def _block(self, name: str | None, body: Expr) -> Finding:
        while isinstance(body, Let):
            if (yield self._value(name, body.value)):
                self.add(body.var)
            body = body.body
        return (yield self._value(name, body))

    def _value(self, name: str | None, value: Expr) -> Finding:
        match value:
            case Var():
                return value in self.variables
            case Call(callee=GlobalVar(name=callee)):
                return self._call(name, callee, value)
            case Call():
                rule = GRADIENT.rule_of(value)
                if rule is not None and rule.constant:
                    return False
                return any(map(self.is_active, value.arguments))
            case If():
                first = yield self._block(name, value.true_branch)
                second = yield self._block(name, value.false_branch)
                return first or second
            case Match():
                return (yield self._match(name, value))
            case RefRead():
                return holds_floats(value, self.types)
            case _:
                return any(map(self.is_active, children(value)))

    def _match(self, name: str | None, node: Match) -> Finding:
        found = False
        for clause in node.clauses:
            if self.is_active(node.value):
                for var in pattern_vars(clause.pattern):
                    self.add(var)
            found = (yield self._block(name, clause.body)) or found
        return found

    def _call(self, name: str | None, callee: str, call: Call) -> bool:
        if callee not in self.functions:
            return False
        if name is not None:
            self._callers.setdefault(callee, set()).add(name)
        active = {i for i, argument in enumerate(call.arguments) if self.is_active(argument)}
        if callee in self.ruled:
            self.ruled[callee].require_constant(active, self.types)
            return bool(active)
        known = self.params.get(callee)
        if known is None or not active <= known:
            self.params[callee] = (known or set()) | active
            self._pending.append(callee)
        return callee in self.results and (bool(active) or callee in self.with_cells)
