"""Python statements as expressions of Relay."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Mapping

from relay_tune.frontend.python.expressions import static_items
from relay_tune.frontend.python.flow import Binding, Exits, Lets, Steps, bound
from relay_tune.frontend.python.loops import Loops
from relay_tune.frontend.python.names import breaks, continues, leaves_block
from relay_tune.frontend.python.scope import Meaning, Scope, Static
from relay_tune.frontend.python.static import is_number
from relay_tune.frontend.python.types import TypeReader
from relay_tune.ir.expr import Expr, Function, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.types import TensorType


class Statements(Loops):
    """Translates the statements of one function."""

    types: TypeReader

    def block(self, steps: Steps, scope: Scope, exits: Exits) -> Expr:
        """The value of the function from a block of statements on."""
        lets: Lets = []
        pending = deque(steps)
        while pending:
            step = pending.popleft()
            match step:
                case Binding(target, meaning):
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
        self, step: ast.If | ast.Match | ast.For | ast.While, scope: Scope, lets: Lets
    ) -> Scope:
        if isinstance(step, ast.If | ast.Match):
            return self.join(self.fork(step, scope), scope, lets)
        return self.run(self.loop(step, scope, lets), scope, lets)

    def _last(
        self,
        step: ast.If | ast.Match | ast.For | ast.While,
        scope: Scope,
        rest: Steps,
        exits: Exits,
        lets: Lets,
    ) -> Expr:
        if isinstance(step, ast.If | ast.Match):
            return self.part(self.fork(step, scope), scope, rest, exits)
        return self.run_last(self.loop(step, scope, lets), scope, rest, exits)

    def _written_out(self, step: ast.stmt, scope: Scope) -> list[ast.stmt | Binding] | None:
        """A branch that is known already, or the rounds of a loop over Python objects."""
        if isinstance(step, ast.If):
            test = self.value(step.test, scope)
            if isinstance(test, Static):
                return list(step.body if test.value else step.orelse)
        if isinstance(step, ast.For) and not _is_range(step.iter):
            items = static_items(self.value(step.iter, scope))
            if items is None:
                return None
            if breaks(step.body) or continues(step.body) or step.orelse:
                raise self.source.error(
                    step,
                    "A loop over Python objects is written out; it cannot break or continue.",
                    remedy="Choose what to go through before the loop, or loop over a range.",
                )
            rounds: list[ast.stmt | Binding] = []
            for item in items:
                meaning = item if isinstance(item, Expr) else Static(item)
                rounds += [Binding(step.target, meaning), *step.body]
            return rounds
        return None

    def _returned(self, step: ast.Return, scope: Scope) -> Expr:
        return self.unit(step) if step.value is None else self.expr(step.value, scope)

    def unit(self, node: ast.AST) -> Expr:
        """The value of a function that returns nothing."""
        return self.placed(Tuple(()), node)

    def _simple(self, step: ast.stmt, scope: Scope, lets: Lets) -> Scope:
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
                value = self.placed(value, step) if isinstance(value, Expr) else value
                return self.assign(target, value, scope, lets)
            case ast.Expr(ast.Constant(str())):
                return scope  # a documentation string
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

    def assign(self, target: ast.expr, value: Meaning, scope: Scope, lets: Lets) -> Scope:
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
                items = [TupleGetItem(whole, place) for place in range(len(targets))]
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
                return self.placed(constant(number, declared.dtype), node)
        return self.lift(value, node)

    def _annotated(self, step: ast.AnnAssign, scope: Scope, lets: Lets) -> Scope:
        if not isinstance(step.target, ast.Name):
            raise self._no_target(step.target)
        scope = scope.declare(step.target.id, self.types.type(step.annotation))
        if step.value is None:
            return scope
        return self.assign(step.target, self.value(step.value, scope), scope, lets)

    def _local_function(self, node: ast.FunctionDef, scope: Scope, lets: Lets) -> Scope:
        if node.decorator_list:
            raise self.source.error(
                node.decorator_list[0],
                "Inner functions have no decorators.",
                remedy="Leave it away: inner functions are translated with the outer one.",
            )
        var = Var(node.name, span=self.source.span(node))
        scope = scope.bind(node.name, var)
        lets.append((var, self.function(node, node.args.args, scope, {})))
        return scope

    def function(
        self,
        node: ast.FunctionDef,
        params: list[ast.arg],
        scope: Scope,
        evaluated: Mapping[str, object],
    ) -> Function:
        """A function definition; `params` are those that are no objects known now.

        `evaluated` are the annotations as Python evaluated them.
        """
        self.only_plain(node.args)
        type_params = [self.types.declare(param.name) for param in getattr(node, "type_params", ())]
        variables = []
        for param in params:
            declared = self.types.declared(param.annotation, evaluated.get(param.arg))
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


def _is_range(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name("range")):
            return True
        case _:
            return False
