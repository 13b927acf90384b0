"""Reverse mode: the adjoints of what a block uses, given that of its result.

A block, a body, branch or clause in A-normal form, is swept once, last binding first. That gives
the code that computes the adjoints, in the variables of the block, and the block itself, which may
have to hand over some of them: where the code does not stand in their scope, they travel on a
*tape*. Of a function that is called, it is a tuple of what its backward function needs; of a branch
or clause, a constructor of a data type, which also tells what was taken:

    %l_run = match (%x) { Cons(%h, %t) => (.., ConsTape(%h, ..)), Nil => (.., NilTape) };
    ..
    %d = match (%l_run.1) { ConsTape(%h, ..) => .., NilTape => .. }

Nothing is handed over that the backward code does not use. An adjoint that is zero is None here and
has no code; only where branches or functions must return one, zero is written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Match, Var
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import free_vars
from relay_tune.ir.types import UNIT, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.block_code import BlockCode, Knowledge
from relay_tune.transform.gradient.branches import arms_of, sweep_choice
from relay_tune.transform.gradient.checkpoints import Checkpoint, arguments_again, function_again
from relay_tune.transform.gradient.choices import Arm
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.ruled import RuledFunction
from relay_tune.transform.gradient.ruled_calls import sweep_ruled_call
from relay_tune.transform.gradient.straight_line import sweep_line
from relay_tune.transform.gradient.swept import Sweeping, Swept, substituted
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    field_of,
    function_call,
    let_block,
    packed,
    parameter,
    renamed,
    tuple_of,
    type_of,
    unpacked,
    variable,
)
from relay_tune.transform.language.let_blocks import is_atom


@dataclass(frozen=True)
class SplitFunction:
    """A function as one that also returns a tape, and one that takes it.

    Attributes:
        forward, backward: their names.
        tape: the type of the tape; it stands for the tape while the function is being split.
    """

    forward: str
    backward: str
    tape: Type


@dataclass
class Reverse:
    """Differentiates the blocks of a module, and the functions that they call.

    Attributes:
        source: the functions of the module, in A-normal form.
        known: what all blocks share.
        names: of the module.
        ruled: the functions with rules of their own.
        checkpoints: those that are computed again.
        functions: those that are added.
        recomputing: the names of those among them that compute others again, and of what they call.
    """

    source: Mapping[str, Function]
    known: Knowledge
    names: Names
    ruled: Mapping[str, RuledFunction] = field(default_factory=dict)
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    recomputing: set[str] = field(default_factory=set)
    _split: dict[str, SplitFunction] = field(default_factory=dict)
    _again: dict[str, str] = field(default_factory=dict)

    def block(self, title: str, body: Expr, adjoint: Adjoint) -> Sweeping:
        """The sweep of a block of the function `title`; `adjoint` is that of its result."""
        bindings: list[Binding] = []
        while isinstance(body, Let):
            bindings.append((body.var, body.value))
            body = body.body
        if not is_atom(body):
            bindings.append((variable("result", type_of(body)), body))
            body = bindings[-1][0]
            self.known.activity.add(body)
        self.known.definitions.update(bindings)
        code = BlockCode(self.known, title)
        code.contribute(body, adjoint)
        for var, value in reversed(bindings):
            with made_for(value.span):
                yield self._binding(code, var, value)
        return Swept(code.forward[::-1], body, code.backward, code.adjoints)

    def _binding(self, code: BlockCode, var: Var, value: Expr) -> Sweeping:
        """Sweep one binding."""
        adjoint = code.named(f"d_{var.name}", code.adjoints.pop(var, None))
        match value:
            case If() | Match():
                yield self._choice(code, var, value, adjoint)
            case Call(callee=GlobalVar(name=name)) if name in self.ruled:
                sweep_ruled_call(code, var, value, self.ruled[name], adjoint)
            case Call(callee=GlobalVar(name=name)) if name in self.checkpoints:
                yield self._checkpoint(code, var, value, self.checkpoints[name], adjoint)
            case Call(callee=GlobalVar(name=name)):
                yield self._function_call(code, var, value, name, adjoint)
            case _:
                code.forward.append((var, value))
                sweep_line(code, var, value, adjoint)
        return None

    def _choice(self, code: BlockCode, var: Var, node: If | Match, adjoint: Adjoint) -> Sweeping:
        """Sweep the branches of an if, or the clauses of a match."""
        is_idle = adjoint is None and not self.known.activity.has_work(node)
        if is_idle or (isinstance(node, Match) and not node.clauses):
            code.forward.append((var, node))
            return None
        arms: list[Arm] = []
        for pattern, body in arms_of(code, node):
            swept: Swept = yield self.block(code.title, body, adjoint)
            arms.append(Arm(pattern, swept))
        sweep_choice(code, var, node, arms)
        return None

    def _function_call(
        self, code: BlockCode, var: Var, call: Call, name: str, adjoint: Adjoint
    ) -> Sweeping:
        has_cells = name in self.known.activity.with_cells
        if adjoint is None and not has_cells:
            code.forward.append((var, call))
            return None
        split: SplitFunction = yield self.split(name)
        result = type_of(var)
        run = variable(f"{var.name}_run", TupleType((result, split.tape)))
        tape = variable(f"{var.name}_tape", split.tape)
        code.forward += [
            (tape, field_of(run, 1)),
            (var, field_of(run, 0)),
            (run, function_call(split.forward, call.arguments, run.type or UNIT)),
        ]
        self._backward_call(code, name, call.arguments, tape, self.known.values.value(adjoint, var))
        return None

    def _checkpoint(
        self, code: BlockCode, var: Var, call: Call, kept: Checkpoint, adjoint: Adjoint
    ) -> Sweeping:
        """Sweep a call that is computed again for its adjoint."""
        kept.require_no_cells(self.known.types)
        code.forward.append((var, call))
        if adjoint is None:
            return None
        split: SplitFunction = yield self.split(kept.name)
        itself = kept.itself(call)
        again = arguments_again(code, itself, adjoint)
        whole = function_call(self._function_again(kept.name, split), again, split.tape)
        tape = code.bound(f"{var.name}_tape", whole)
        given = self.known.values.value(adjoint, var)
        self._backward_call(code, kept.name, itself.arguments, tape, given)
        return None

    def _function_again(self, name: str, split: SplitFunction) -> str:
        """The function that computes another one again: its tape alone."""
        if name not in self._again:
            made = self._again[name] = self.names.new(f"{name}_again")
            function = function_again(self.source[name], split.forward, split.tape)
            self.functions[made] = function
            self.recomputing |= {made, split.forward, split.backward}
        return self._again[name]

    def _backward_call(
        self, code: BlockCode, name: str, arguments: Sequence[Expr], tape: Expr, given: Expr
    ) -> None:
        """Call the backward function of `name`: the adjoints of the arguments that change."""
        indices = self.known.activity.active_params(name)
        active = [arguments[index] for index in indices]
        params = [self.source[name].params[index] for index in indices]
        split = self._split[name]
        backward = function_call(split.backward, (tape, given), self._returned(params))
        whole = code.bound(f"d_{name}", backward, self._returned(active))
        for argument, part in zip(active, unpacked(whole, len(active)), strict=True):
            code.contribute(argument, part)

    def _returned(self, values: Sequence[Expr]) -> Type:
        """The type of the adjoints of values, as backward functions return them."""
        types = tuple(self.known.types.field_adjoint(type_of(each)) for each in values)
        return types[0] if len(types) == 1 else TupleType(types)

    def split(self, name: str) -> Sweeping:
        """A function that is called, split; itself being split, as far as it is known."""
        known = self._split.get(name)
        if known is not None:
            return known
        function = self.source[name]
        made = SplitFunction(
            self.names.new(f"{name}_forward"),
            self.names.new(f"{name}_backward"),
            self.known.tapes.new_type(name),
        )
        self._split[name] = made
        result = type_of(function.body)
        adjoint = parameter("d", self.known.types.field_adjoint(result))
        swept: Swept = yield self.block(name, function.body, self._of_result(adjoint))
        active = [function.params[index] for index in self.known.activity.active_params(name)]
        returned = [self.known.values.value(swept.adjoints.get(var), var) for var in active]
        code = let_block(swept.backward, packed(returned) if returned else tuple_of(()))
        available = {*function.params, *(var for var, _ in swept.bindings)}
        saved = [var for var in free_vars(code) if var in available]
        self._define(made, function, swept, saved, adjoint, code)
        return made

    def _of_result(self, adjoint: Var) -> Adjoint:
        return None if adjoint.type == UNIT else adjoint

    def _define(
        self,
        split: SplitFunction,
        function: Function,
        swept: Swept,
        saved: list[Var],
        adjoint: Var,
        code: Expr,
    ) -> None:
        """Write the two functions."""
        tape = tuple_of(saved) if len(saved) != 1 else saved[0]
        self.known.tapes.define(split.tape, type_of(tape))
        forward = swept.block(tuple_of((swept.result, tape)))
        params = tuple(parameter(each.name, type_of(each)) for each in function.params)
        changed: dict[Expr, Expr] = dict(zip(function.params, params, strict=True))
        self.functions[split.forward] = Function(
            params, substituted(forward, changed), span=function.span
        )
        taken = parameter("tape", type_of(tape))
        if len(saved) == 1:
            body = substituted(code, {saved[0]: taken})
        else:
            new = {var: renamed(var) for var in saved}
            named = [(var, field_of(taken, index)) for index, var in enumerate(new.values())]
            body = let_block(named, substituted(code, dict(new.items())))
        self.functions[split.backward] = Function((taken, adjoint), body, span=function.span)
