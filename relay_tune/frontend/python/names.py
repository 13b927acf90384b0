"""Which names statements assign, and how control leaves them: facts of the syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

Statements = Sequence[ast.stmt]


def assigned_names(statements: Statements) -> tuple[str, ...]:
    """The names that statements may assign, in order; those of inner functions do not count."""
    return tuple(dict.fromkeys(name for s in statements for name in _assigned(s)))


def surely_assigned(statements: Statements) -> set[str]:
    """The names that have been assigned wherever control reaches the end."""
    names: set[str] = set()
    for statement in statements:
        match statement:
            case ast.If():
                names |= surely_assigned(statement.body) & surely_assigned(statement.orelse)
            case ast.Match():
                cases = [surely_assigned(case.body) for case in statement.cases]
                names |= set.intersection(*cases)
            case ast.For() | ast.While():
                pass
            case _:
                names.update(_assigned(statement))
    return names


def leaves_block(statement: ast.stmt) -> bool:
    """Whether a statement may leave the block it stands in: by return, break or continue."""
    match statement:
        case ast.Return() | ast.Break() | ast.Continue():
            return True
        case ast.For() | ast.While():
            return returns(statement.body)
        case _:
            return any(leaves_block(inner) for block in _blocks(statement) for inner in block)


def always_leaves(statements: Statements) -> bool:
    """Whether control never reaches the end of the statements."""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return True
            case ast.If() if always_leaves(statement.body) and always_leaves(statement.orelse):
                return True
            case ast.Match() if all(always_leaves(case.body) for case in statement.cases):
                return True
            case _:
                pass
    return False


def returns(statements: Statements) -> bool:
    """Whether a return stands anywhere in the statements."""
    return any(isinstance(s, ast.Return) for s in _nested(statements, into_loops=True))


def breaks(statements: Statements) -> bool:
    """Whether a break for the enclosing loop stands in the statements."""
    return any(isinstance(s, ast.Break) for s in _nested(statements, into_loops=False))


def continues(statements: Statements) -> bool:
    """Whether a continue for the enclosing loop stands in the statements."""
    return any(isinstance(s, ast.Continue) for s in _nested(statements, into_loops=False))


def _nested(statements: Statements, *, into_loops: bool) -> Iterator[ast.stmt]:
    for statement in statements:
        yield statement
        if into_loops or not isinstance(statement, ast.For | ast.While):
            for block in _blocks(statement):
                yield from _nested(block, into_loops=into_loops)


def _blocks(statement: ast.stmt) -> Iterator[Statements]:
    """The blocks of a compound statement; an inner function is none of them."""
    match statement:
        case ast.If() | ast.For() | ast.While():
            yield statement.body
            yield statement.orelse
        case ast.Match():
            yield from (case.body for case in statement.cases)


def _assigned(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign():
            for target in statement.targets:
                yield from target_names(target)
        case ast.AnnAssign() if statement.value is not None:
            yield from target_names(statement.target)
        case ast.AugAssign():
            yield from target_names(statement.target)
        case ast.FunctionDef():
            yield statement.name
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"))):
            yield name  # a longer list
        case ast.For():
            yield from target_names(statement.target)
            yield from assigned_names(statement.body)
        case _:
            for block in _blocks(statement):
                yield from assigned_names(block)


def target_names(target: ast.expr) -> Iterator[str]:
    """The names that an assignment target binds."""
    match target:
        case ast.Name():
            yield target.id
        case ast.Tuple() | ast.List():
            for part in target.elts:
                yield from target_names(part)
