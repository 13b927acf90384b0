"""Python statements as expressions of Relay."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Mapping, Sequence

from relay_tune.frontend.python.expressions import NO_DEFAULTS, static_items
from relay_tune.frontend.python.flow import Exits, ItemBinding, Lets, Steps, bound
from relay_tune.frontend.python.loops import Loops
from relay_tune.frontend.python.names import breaks, continues, leaves_block
from relay_tune.frontend.python.scope import Meaning, NameScope, Static
from relay_tune.frontend.python.static import is_number
from relay_tune.frontend.python.types import TypeReader
from relay_tune.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.types import TensorType, scalar_type


class Statements(Loops):
    """Translates the statements of one function."""

    types: TypeReader

    def block(self, steps: Steps, scope: NameScope, exits: Exits) -> Expr:
        """The value of the function from a block of statements on."""
        lets: Lets = []
        pending = deque(steps)
        while pending:
            step = pending.popleft()
            match step:
                case ItemBinding(target, meaning):
                    scope = self.assign(target, meaning, scope, lets)
                case ast.Return():
                    return bound(lets, self._returned(step, scope))
                case ast.Break() if exits.break_ is not None:
                    return bound(lets, exits.break_(scope))
                case ast.Continue() if exits.continue_ is not None:
                    return bound(lets, exits.continue_(scope))
                case ast.If() | ast.Match() | ast.For() | ast.While():
                    written_out = self._written_out(step, scope)
                    if written_out is not None:
                        pending.extendleft(reversed(written_out))
                    elif leaves_block(step):
                        return bound(lets, self._last(step, scope, tuple(pending), exits, lets))
                    else:
                        scope = self._compound(step, scope, lets)
                case _:
                    scope = self._simple(step, scope, lets)
        return bound(lets, exits.end(scope))

    def _compound(
        self, step: ast.If | ast.Match | ast.For | ast.While, scope: NameScope, lets: Lets
    ) -> NameScope:
        if isinstance(step, ast.If | ast.Match):
            return self.join(self.fork(step, scope), scope, lets)
        return self.run(self.loop(step, scope, lets), scope, lets)

    def _last(
        self,
        step: ast.If | ast.Match | ast.For | ast.While,
        scope: NameScope,
        rest: Steps,
        exits: Exits,
        lets: Lets,
    ) -> Expr:
        if isinstance(step, ast.If | ast.Match):
            return self.part(self.fork(step, scope), scope, rest, exits)
        return self.run_last(self.loop(step, scope, lets), scope, rest, exits)

    def _written_out(self, step: ast.stmt, scope: NameScope) -> list[ast.stmt | ItemBinding] | None:
        """A branch that is known already, or the rounds of a loop over Python objects."""
        if isinstance(step, ast.If):
            test = self.value(step.test, scope)
            if isinstance(test, Static):
                return list(step.body if test.value else step.orelse)
        if (
            isinstance(step, ast.For)
            and _is_call(step.iter, "enumerate")
            and not self._is_known("enumerate", scope)
        ):
            return self._counted(step, scope)
        if isinstance(step, ast.For) and not _is_call(step.iter, "range"):
            items = static_items(self.value(step.iter, scope))
            return None if items is None else self._rounds(step, items)
        return None

    def _is_known(self, name: str, scope: NameScope) -> bool:
        """Whether a name means something else than what Python calls so."""
        return scope.find(name) is not None

    def _counted(self, step: ast.For, scope: NameScope) -> list[ast.stmt | ItemBinding]:
        """`for i, x in enumerate(xs)`, with a counter of its own."""
        match step.iter, step.target:
            case (
                ast.Call(args=[items, *starts], keywords=[]),
                ast.Tuple([index, item]) | ast.List([index, item]),
            ) if len(starts) <= 1:
                start = self.value(starts[0], scope) if starts else Static(0)
            case _:
                raise self.source.error(
                    step,
                    "A loop over enumerate has a name for the number and one for the item.",
                    remedy="Write it as: for i, x in enumerate(xs).",
                )
        known = static_items(self.value(items, scope))
        if known is not None and isinstance(start, Static):
            return self._rounds(step, list(enumerate(known, start.value)))
        counter = f"number of {step.lineno}:{step.col_offset}"
        name = ast.Name(counter, ast.Load())
        one = ast.AugAssign(ast.Name(counter, ast.Store()), ast.Add(), ast.Constant(1))
        body = [ast.Assign([index], name), one, *step.body]
        loop = ast.For(item, items, body, step.orelse)
        for made in (loop, body[0], one):
            ast.copy_location(made, step)
            ast.fix_missing_locations(made)
        return [ItemBinding(ast.copy_location(ast.Name(counter, ast.Store()), step), start), loop]

    def _rounds(self, step: ast.For, items: Sequence[object]) -> list[ast.stmt | ItemBinding]:
        """The rounds of a loop over Python objects, written out."""
        if breaks(step.body) or continues(step.body) or step.orelse:
            raise self.source.error(
                step,
                "A loop over Python objects is written out; it cannot break or continue.",
                remedy="Choose what to go through before the loop, or loop over a range.",
            )
        rounds: list[ast.stmt | ItemBinding] = []
        for item in items:
            meaning = item if isinstance(item, Expr) else Static(item)
            rounds += [ItemBinding(step.target, meaning), *step.body]
        return rounds

    def _returned(self, step: ast.Return, scope: NameScope) -> Expr:
        return self.unit(step) if step.value is None else self.expr(step.value, scope)

    def unit(self, node: ast.AST) -> Expr:
        """The value of a function that returns nothing."""
        return self.located(Tuple(()), node)

    def _simple(self, step: ast.stmt, scope: NameScope, lets: Lets) -> NameScope:
        match step:
            case ast.Pass():
                return scope
            case ast.Assign():
                value = self.value(step.value, scope)
                if isinstance(value, Expr) and len(step.targets) > 1:
                    value = _named(value, lets)
                for target in step.targets:
                    scope = self.assign(target, value, scope, lets)
                return scope
            case ast.AnnAssign():
                return self._annotated(step, scope, lets)
            case ast.AugAssign(target=ast.Name() as target):
                value = self.binary(step.op, _loaded(target), step.value, step, scope)
                value = self.located(value, step) if isinstance(value, Expr) else value
                return self.assign(target, value, scope, lets)
            case ast.Expr(ast.Constant(str())):
                return scope  # a documentation string
            case ast.Expr(ast.Call(ast.Attribute(ast.Name() as target, "append")) as call) if (
                scope.has(target.id)
            ):
                return self.assign(target, self._longer(call, target, scope), scope, lets)
            case ast.Expr():
                lets.append((Var("_"), self.expr(step.value, scope)))
                return scope
            case ast.FunctionDef():
                return self._local_function(step, scope, lets)
            case ast.AugAssign():
                raise self._no_target(step.target)
        raise self.source.error(
            step,
            f"This statement ({type(step).__name__}) has no meaning in Relay.",
            remedy="Use assignments, if, match, for, while, inner functions and return.",
        )

    def _longer(self, call: ast.Call, name: ast.Name, scope: NameScope) -> Expr:
        """The list that `name.append(item)` makes: the old one, and the item behind it."""
        joined = self.library("concat")
        if len(call.args) != 1 or call.keywords or joined is None:
            raise self.source.error(
                call,
                "append takes one item, and needs the function concat of the prelude.",
                remedy="Write xs.append(x), in a program whose base is the prelude.",
            )
        item = self.list_of([self.expr(call.args[0], scope)], call)
        items = self.expr(_loaded(name), scope)
        return self.located(Call(self.lift(joined, call), (items, item)), call)

    def assign(self, target: ast.expr, value: Meaning, scope: NameScope, lets: Lets) -> NameScope:
        """Give the names of a target their values."""
        match target:
            case ast.Name(name):
                if isinstance(value, Static | Var) and name not in scope.declared:
                    return scope.bind(name, value)
                var = Var(name, scope.declared.get(name), span=self.source.span(target))
                lets.append((var, self._fitted(value, var, target)))
                return scope.bind(name, var)
            case ast.Tuple(parts) | ast.List(parts):
                for part, item in zip(parts, self._parts(parts, value, target, lets), strict=True):
                    scope = self.assign(part, item, scope, lets)
                return scope
        raise self._no_target(target)

    def _parts(
        self, targets: list[ast.expr], value: Meaning, node: ast.expr, lets: Lets
    ) -> list[Meaning]:
        """The fields of a value that is taken apart."""
        items: list[Meaning]
        match value:
            case Static(tuple() | list() as known):
                items = [item if isinstance(item, Expr) else Static(item) for item in known]
            case Tuple(fields):
                items = list(fields)
            case _:
                whole = _named(self.lift(value, node), lets)
                items = [TupleGetItem(whole, index) for index in range(len(targets))]
        if len(items) != len(targets):
            raise self.source.error(
                node,
                f"{len(items)} values for {len(targets)} names.",
                remedy="Write as many names as there are values.",
            )
        return items

    def _fitted(self, value: Meaning, var: Var, node: ast.AST) -> Expr:
        """A value for a variable; a plain number takes the declared element type."""
        declared = var.annotation
        if isinstance(declared, TensorType) and isinstance(value, Static) and not declared.shape:
            number = value.value
            if is_number(number) and (isinstance(number, int) or "float" in declared.dtype):
                return self.located(constant(number, declared.dtype), node)
        return self.lift(value, node)

    def _annotated(self, step: ast.AnnAssign, scope: NameScope, lets: Lets) -> NameScope:
        if not isinstance(step.target, ast.Name):
            raise self._no_target(step.target)
        scope = scope.declare(step.target.id, self.types.type(step.annotation))
        if step.value is None:
            return scope
        return self.assign(step.target, self.value(step.value, scope), scope, lets)

    def _local_function(self, node: ast.FunctionDef, scope: NameScope, lets: Lets) -> NameScope:
        if node.decorator_list:
            raise self.source.error(
                node.decorator_list[0],
                "Inner functions have no decorators.",
                remedy="Omit the decorator: inner functions are translated with the outer one.",
            )
        var = Var(node.name, span=self.source.span(node))
        scope = scope.bind(node.name, var)
        lets.append((var, self.function(node, node.args.args, scope, {})))
        return scope

    def function(
        self,
        node: ast.FunctionDef,
        params: list[ast.arg],
        scope: NameScope,
        evaluated: Mapping[str, object],
        defaults: Mapping[str, object] = NO_DEFAULTS,
    ) -> Function:
        """A function definition; `params` are those that are no objects known now.

        `evaluated` are the annotations as Python evaluated them, `defaults` the default values.
        """
        self.only_plain(node.args, defaults)
        type_params = [self.types.declare(param.name) for param in getattr(node, "type_params", ())]
        variables = []
        for param in params:
            declared = self.types.declared(param.annotation, evaluated.get(param.arg))
            if declared is None and param.arg in defaults:
                default = self.lift(Static(defaults[param.arg]), param)
                assert isinstance(default, Constant)
                declared = scalar_type(default.data.dtype.name)
            variables.append(Var(param.arg, declared, span=self.source.span(param)))
            scope = scope.bind(param.arg, variables[-1])
        result = self.types.declared(node.returns, evaluated.get("return"))
        body = self.block(node.body, scope, Exits(lambda _: self.unit(node)))
        span = self.source.span(node)
        return Function(tuple(variables), body, result, tuple(type_params), span=span)

    def _no_target(self, target: ast.expr) -> Exception:
        return self.source.error(
            target,
            "Only names can be assigned.",
            label="values do not change",
            remedy="Make a new value, such as with where, concatenate or scatter_nd.",
        )


def _named(value: Expr, lets: Lets) -> Expr:
    """`value` as a variable, so that it is computed once."""
    if isinstance(value, Var):
        return value
    var = Var("value", span=value.span)
    lets.append((var, value))
    return var


def _loaded(target: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)


def _is_call(node: ast.expr, name: str) -> bool:
    """Whether a function of this name is called."""
    match node:
        case ast.Call(func=ast.Name(called)):
            return called == name
        case _:
            return False
