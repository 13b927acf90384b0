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
from dataclasses import dataclass, field
from typing import Any

from relay_tune.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.provenance import made_for
from relay_tune.ir.trampoline import Recursive
from relay_tune.ir.traversal import free_vars, map_pattern_vars, pattern_vars, rewrite
from relay_tune.ir.types import UNIT, RefType, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.gradient.table import adjoints_of
from relay_tune.transform.gradient.activity import Activity
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import AdjointValues, fields_of_adjoint
from relay_tune.transform.gradient.cells import is_pair
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.patterns import pattern_adjoint, with_names
from relay_tune.transform.gradient.tapes import Tapes
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    constructed,
    field_of,
    fields_pattern,
    function_call,
    let_block,
    matched,
    packed,
    parameter,
    renamed,
    tuple_of,
    type_of,
    unpacked,
    variable,
)
from relay_tune.transform.language.let_blocks import is_atom

Adjoints = dict[Var, Adjoint]
Sweeping = Recursive[Any]
"""A sweep that may wait for those of inner blocks and of other functions."""


@dataclass
class Swept:
    """A block and its backward code.

    Attributes:
        bindings: those of the block, in order, with tapes where they are needed.
        result: its value, a variable or constant.
        backward: the bindings of the backward code, in order.
        adjoints: of variables from around the block.
    """

    bindings: list[Binding]
    result: Expr
    backward: list[Binding] = field(default_factory=list)
    adjoints: Adjoints = field(default_factory=dict)

    def block(self, result: Expr | None = None) -> Expr:
        """The block, with another result if one is given."""
        return let_block(self.bindings, self.result if result is None else result)


@dataclass
class SplitFunction:
    """A function as one that also returns a tape, and one that takes it.

    Attributes:
        forward, backward: their names.
        tape: the type of the tape; it stands for the tape while the function is being split.
        is_split: whether that is done.
        has_tape: whether there is one.
    """

    forward: str
    backward: str
    tape: Type
    is_split: bool = False
    has_tape: bool = True


@dataclass
class Reverse:
    """Differentiates the blocks of a module, and the functions that they call.

    Attributes:
        source: the functions of the module, in A-normal form.
        functions: those that are added.
    """

    source: Mapping[str, Function]
    types: AdjointTypes
    values: AdjointValues
    activity: Activity
    names: Names
    tapes: Tapes
    functions: dict[str, Function] = field(default_factory=dict)
    definitions: dict[Expr, Expr] = field(default_factory=dict)
    """What variables are bound to."""
    _split: dict[str, SplitFunction] = field(default_factory=dict)

    def block(self, title: str, body: Expr, adjoint: Adjoint) -> Sweeping:
        """The sweep of a block of the function `title`; `adjoint` is that of its result."""
        bindings: list[Binding] = []
        while isinstance(body, Let):
            bindings.append((body.var, body.value))
            body = body.body
        if not is_atom(body):
            bindings.append((variable("result", type_of(body)), body))
            body = bindings[-1][0]
            self.activity.add(body)
        self.definitions.update(bindings)
        sweep = _Sweep(self, title)
        sweep.contribute(body, adjoint)
        for var, value in reversed(bindings):
            with made_for(value.span):
                yield sweep.binding(var, value)
        return Swept(sweep.forward[::-1], body, sweep.backward, sweep.adjoints)

    def split(self, name: str) -> Sweeping:
        """A function that is called, split; itself being split, as far as it is known."""
        known = self._split.get(name)
        if known is not None:
            return known
        function = self.source[name]
        made = SplitFunction(
            self.names.new(f"{name}_forward"),
            self.names.new(f"{name}_backward"),
            self.tapes.new_type(name),
        )
        self._split[name] = made
        result = type_of(function.body)
        adjoint = parameter("d", self.types.field_adjoint(result))
        swept: Swept = yield self.block(name, function.body, self._of_result(adjoint))
        active = [function.params[place] for place in self.activity.active_params(name)]
        returned = [self.values.value(swept.adjoints.get(var), var) for var in active]
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
        self.tapes.settle(split.tape, type_of(tape))
        split.is_split = True
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
            named = [(var, field_of(taken, place)) for place, var in enumerate(new.values())]
            body = let_block(named, substituted(code, dict(new.items())))
        self.functions[split.backward] = Function((taken, adjoint), body, span=function.span)


def substituted(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """An expression with other nodes in place of some."""
    if not values:
        return root
    return rewrite(root, lambda node: values.get(node, node))


@dataclass
class _Sweep:
    """One block being swept; `forward` is the block backwards."""

    of: Reverse
    title: str
    forward: list[Binding] = field(default_factory=list)
    backward: list[Binding] = field(default_factory=list)
    adjoints: Adjoints = field(default_factory=dict)

    def contribute(self, atom: Expr, adjoint: Adjoint) -> None:
        """Add to the adjoint of a variable; what does not change has none."""
        if adjoint is None or not isinstance(atom, Var) or not self.of.activity.is_active(atom):
            return
        if isinstance(adjoint, tuple) and all(part is None for part in adjoint):
            return
        self.adjoints[atom] = self.of.values.total(self.adjoints.get(atom), adjoint)

    def binding(self, var: Var, value: Expr) -> Sweeping:
        """Sweep one binding."""
        adjoint = self._named(f"d_{var.name}", self.adjoints.pop(var, None))
        if isinstance(value, If | Match):
            yield self._branches(var, value, adjoint)
        elif isinstance(value, Call) and isinstance(value.callee, GlobalVar):
            yield self._function_call(var, value, value.callee.name, adjoint)
        else:
            self.forward.append((var, value))
            self._simple(var, value, adjoint)
        return None

    def _named(self, name: str, adjoint: Adjoint) -> Adjoint:
        """An adjoint whose parts are variables, bound where they are not yet."""
        if isinstance(adjoint, tuple):
            return tuple(self._named(name, part) for part in adjoint)
        if adjoint is None or type_of(adjoint) == UNIT:
            return None
        if not is_atom(adjoint) and not isinstance(adjoint, TupleGetItem):
            adjoint = self._bound(name, adjoint)
        if isinstance(type_of(adjoint), TupleType):
            return tuple(self._named(name, part) for part in fields_of_adjoint(adjoint))
        return adjoint

    def _bound(self, name: str, value: Expr) -> Var:
        var = variable(name, type_of(value))
        self.backward.append((var, value))
        return var

    def _simple(self, var: Var, value: Expr, adjoint: Adjoint) -> None:
        """What has no blocks inside and calls no function of the program."""
        match value:
            case RefRead() | RefWrite():
                self._cell(value, adjoint)
            case Tuple() if is_pair(self.of.types, type_of(value)):
                self._new_cell(var, value)
            case _ if adjoint is None:
                return
            case Var():
                self.contribute(value, adjoint)
            case Tuple():
                pairs = zip(value.fields, fields_of_adjoint(adjoint), strict=True)
                for part, each in pairs:
                    self.contribute(part, each)
            case TupleGetItem():
                whole = type_of(value.tuple_value)
                assert isinstance(whole, TupleType)
                parts: list[Adjoint] = [None] * len(whole.fields)
                parts[value.index] = adjoint
                self.contribute(value.tuple_value, tuple(parts))
            case Call(callee=Constructor() as constructor):
                self._constructor(value, constructor, adjoint)
            case Call(callee=Operator()):
                adjoints = adjoints_of(Differentiated(value, var, adjoint))
                for argument, each in zip(value.arguments, adjoints, strict=True):
                    self.contribute(argument, each)

    def _cell(self, value: Expr, adjoint: Adjoint) -> None:
        """Reading adds to the adjoint of a cell's value; writing takes it, and leaves zero.

        Cells with floats are pairs; the adjoint is in the second one.
        """
        match value:
            case RefRead() if adjoint is not None and (cell := self._adjoint_cell(value.ref)):
                known = self._bound("d_cell", _read(cell))
                given = self.of.values.value(adjoint, known)
                self._bound("_", _written(cell, self.of.values.sum(known, given)))
            case RefWrite() if cell := self._adjoint_cell(value.ref):
                taken = self._bound("d_cell", _read(cell))
                zero = self.of.values.zero(type_of(taken), value.value)
                self._bound("_", _written(cell, zero))
                self.contribute(value.value, taken)

    def _adjoint_cell(self, cell: Expr) -> Expr | None:
        """The second cell of the pair whose first one `cell` is."""
        match self.of.definitions.get(cell):
            case TupleGetItem(tuple_value=pair, index=0):
                return field_of(pair, 1) if is_pair(self.of.types, type_of(pair)) else None
            case _:
                return None

    def _new_cell(self, pair: Var, value: Tuple) -> None:
        """What the first cell of a new pair held in the beginning has the adjoint that is left."""
        first = self.of.definitions.get(value.fields[0])
        if isinstance(first, RefCreate):
            self.contribute(first.value, self._bound("d_cell", _read(field_of(pair, 1))))

    def _constructor(self, call: Call, constructor: Constructor, adjoint: Adjoint) -> None:
        """Take the adjoints of fields that change out of that of the whole."""
        data = self.of.types.data(type_of(call))
        is_active = self.of.activity.is_active
        if constructor.name not in data.constructors:
            return
        assert isinstance(adjoint, Expr)
        fields = self.of.types.constructor_fields_of(data, constructor.name, type_of(adjoint))
        wanted = [place for place in fields if is_active(call.arguments[place])]
        if not wanted:
            return
        bound = {place: variable(f"d{place}", fields[place]) for place in wanted}
        zeros = [self.of.values.zero(fields[place], call.arguments[place]) for place in wanted]
        pattern = fields_pattern(
            data.constructors[constructor.name], [bound.get(place) for place in fields]
        )
        taken = matched(
            adjoint,
            (
                (pattern, packed([bound[place] for place in wanted])),
                (fields_pattern(data.zero, ()), packed(zeros)),
            ),
            complete=len(data.constructors) == 1,
        )
        whole = self._bound(f"d_{constructor.name}", taken)
        for place, part in zip(wanted, unpacked(whole, len(wanted)), strict=True):
            self.contribute(call.arguments[place], part)

    def _function_call(self, var: Var, call: Call, name: str, adjoint: Adjoint) -> Sweeping:
        has_cells = name in self.of.activity.with_cells
        if adjoint is None and not has_cells:
            self.forward.append((var, call))
            return None
        split: SplitFunction = yield self.of.split(name)
        result = type_of(var)
        run = variable(f"{var.name}_run", TupleType((result, split.tape)))
        tape = variable(f"{var.name}_tape", split.tape)
        self.forward += [
            (tape, field_of(run, 1)),
            (var, field_of(run, 0)),
            (run, function_call(split.forward, call.arguments, run.type or UNIT)),
        ]
        places = self.of.activity.active_params(name)
        given = self.of.values.value(adjoint, var)
        active = [call.arguments[place] for place in places]
        types = [self.of.types.field_adjoint(type_of(argument)) for argument in active]
        returned = types[0] if len(types) == 1 else TupleType(tuple(types))
        whole = self._bound(f"d_{name}", function_call(split.backward, (tape, given), returned))
        for argument, part in zip(active, unpacked(whole, len(active)), strict=True):
            self.contribute(argument, part)
        return None

    def _branches(self, var: Var, node: If | Match, adjoint: Adjoint) -> Sweeping:
        """Sweep the branches of an if, or the clauses of a match."""
        is_idle = adjoint is None and not self.of.activity.has_work(node)
        if is_idle or (isinstance(node, Match) and not node.clauses):
            self.forward.append((var, node))
            return None
        arms: list[_Arm] = []
        for pattern, body in self._arms(node):
            swept: Swept = yield self.of.block(self.title, body, adjoint)
            arms.append(_Arm(pattern, swept))
        whole = _Whole(node, tuple(arms), self._returned(node, arms))
        codes = [self._backward_code(whole, arm) for arm in arms]
        saved = [arm.saved(code) for arm, code in zip(arms, codes, strict=True)]
        if all(set(each) <= arm.pattern_variables for each, arm in zip(saved, arms, strict=True)):
            self._choose_again(var, whole, codes, saved)
        else:
            self._choose_by_tape(var, whole, codes, saved)
        return None

    def _arms(self, node: If | Match) -> list[tuple[Pattern | None, Expr]]:
        if isinstance(node, If):
            return [(None, node.true_branch), (None, node.false_branch)]
        types = self.of.types
        active = self.of.activity.is_active(node.value)
        return [
            (
                with_names(types, clause.pattern, type_of(node.value))
                if active
                else clause.pattern,
                clause.body,
            )
            for clause in node.clauses
        ]

    def _returned(self, node: If | Match, arms: Sequence[_Arm]) -> tuple[Var, ...]:
        """The variables whose adjoints the backward code of some arm finds."""
        found: dict[Var, None] = {}
        for arm in arms:
            inside = arm.pattern_variables
            if any(var in inside for var in arm.swept.adjoints) and isinstance(node, Match):
                assert isinstance(node.value, Var)
                found[node.value] = None
            found.update((var, None) for var in arm.swept.adjoints if var not in inside)
        return tuple(found)

    def _backward_code(self, whole: _Whole, arm: _Arm) -> Expr:
        """The adjoints that an arm finds, zeros for others."""
        adjoints = dict(arm.swept.adjoints)
        node = whole.node
        if arm.pattern is not None and isinstance(node, Match) and isinstance(node.value, Var):
            matched_adjoint = pattern_adjoint(
                self.of.types, self.of.values, arm.pattern, type_of(node.value), adjoints
            )
            known = adjoints.get(node.value)
            adjoints[node.value] = self.of.values.total(known, matched_adjoint)
        values = [self.of.values.value(adjoints.get(var), var) for var in whole.returned]
        return let_block(arm.swept.backward, packed(values) if values else tuple_of(()))

    def _choose_again(
        self, var: Var, whole: _Whole, codes: list[Expr], saved: list[list[Var]]
    ) -> None:
        """Backward code that tests the condition, or matches the value, once more."""
        self.forward.append((var, whole.rebuilt([arm.swept.block() for arm in whole.arms])))
        again = []
        for arm, code, variables in zip(whole.arms, codes, saved, strict=True):
            new = {each: renamed(each) for each in variables}
            pattern = None if arm.pattern is None else _again(arm.pattern, new)
            again.append((pattern, substituted(code, dict(new.items()))))
        self._return(whole, whole.chosen(again))

    def _choose_by_tape(
        self, var: Var, whole: _Whole, codes: list[Expr], saved: list[list[Var]]
    ) -> None:
        """Backward code that matches on a tape, which the forward code makes."""
        constructors = self.of.tapes.branches(
            self.title, whole.titles(), [[type_of(each) for each in part] for part in saved]
        )
        type_ = constructors[0].belongs_to
        results = [
            arm.swept.block(tuple_of((arm.swept.result, constructed(made, part, type_))))
            for arm, made, part in zip(whole.arms, constructors, saved, strict=True)
        ]
        run = variable(f"{var.name}_run", TupleType((type_of(var), type_)))
        tape = variable(f"{var.name}_tape", type_)
        self.forward += [(tape, field_of(run, 1)), (var, field_of(run, 0))]
        self.forward.append((run, whole.rebuilt(results)))
        clauses = []
        for made, code, variables in zip(constructors, codes, saved, strict=True):
            new = {each: renamed(each) for each in variables}
            pattern = fields_pattern(made, tuple(new.values()))
            clauses.append((pattern, substituted(code, dict(new.items()))))
        self._return(whole, matched(tape, clauses))

    def _return(self, whole: _Whole, code: Expr) -> None:
        """Bind what the backward code of the arms returns."""
        returned = whole.returned
        name = f"d_{returned[0].name}" if len(returned) == 1 else "d"
        bound = self._bound(name, code)
        for var, part in zip(returned, unpacked(bound, len(returned)), strict=False):
            self.contribute(var, part)


def _read(cell: Expr) -> RefRead:
    held = type_of(cell)
    assert isinstance(held, RefType)
    return RefRead(cell, type=held.value)


def _written(cell: Expr, value: Expr) -> RefWrite:
    return RefWrite(cell, value, type=UNIT)


@dataclass
class _Arm:
    """A branch, or a clause with its pattern."""

    pattern: Pattern | None
    swept: Swept

    @property
    def pattern_variables(self) -> set[Var]:
        """The variables that the pattern binds."""
        return set() if self.pattern is None else set(pattern_vars(self.pattern))

    def saved(self, code: Expr) -> list[Var]:
        """The variables that the arm binds and its backward code uses."""
        bound = {var for var, _ in self.swept.bindings} | self.pattern_variables
        return [var for var in free_vars(code) if var in bound]


@dataclass
class _Whole:
    """An if or a match, its arms swept, and the variables whose adjoints they return."""

    node: If | Match
    arms: tuple[_Arm, ...]
    returned: tuple[Var, ...]

    def rebuilt(self, bodies: Sequence[Expr]) -> Expr:
        """It, with other branches."""
        return self.chosen(
            [(arm.pattern, body) for arm, body in zip(self.arms, bodies, strict=True)]
        )

    def chosen(self, arms: Sequence[tuple[Pattern | None, Expr]]) -> Expr:
        """The same choice between other branches, or clauses."""
        node, type_ = self.node, arms[0][1].type
        if isinstance(node, If):
            return If(node.condition, arms[0][1], arms[1][1], type=type_)
        clauses = [(pattern, body) for pattern, body in arms if pattern is not None]
        return matched(node.value, clauses, node.complete)

    def titles(self) -> list[str]:
        """What the arms are called."""
        if isinstance(self.node, If):
            return ["true", "false"]
        names = []
        for arm in self.arms:
            constructor = getattr(arm.pattern, "constructor", None)
            names.append("case" if constructor is None else constructor.name)
        return names


def _again(pattern: Pattern, new: Mapping[Var, Var]) -> Pattern:
    """A pattern that binds other variables; those that are not used have new names only."""
    return map_pattern_vars(pattern, lambda var: new[var] if var in new else renamed(var))
