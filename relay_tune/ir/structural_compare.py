"""Equality of two expression graphs up to renaming, and the first place where they differ.

Both graphs are walked at the same time; pairs of nodes that must be equal are joined in a
union-find, as Hopcroft and Karp (A linear algorithm for testing equivalence of finite automata,
1971) do with states. At most one join a node can happen, so the walk is near-linear whatever is
shared on either side. Nodes of the left and of the right graph are kept apart even where they are
the same objects, because the same variable may be bound in one and free in the other.

Each variable is taken to be bound at most once in a graph, as it is in well-formed programs.
"""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr, Function, If, Let, Match, RefWrite, Tuple, Var
from relay_tune.ir.structural_keys import Key, node_key, type_key
from relay_tune.ir.traversal import bound_vars, children
from relay_tune.ir.types import TypeVar

Path = tuple["Path", Expr, int] | None
_LONGEST_PATH = 12


class Comparison:
    """One comparison; `map_free_vars` lets free variables correspond, one to one."""

    def __init__(self, map_free_vars: bool) -> None:
        self._map_free_vars = map_free_vars
        self._joined = _Correspondence()
        self._bound: tuple[set[Var], set[Var]] = (set(), set())
        self._free: tuple[dict[Var, Var], dict[Var, Var]] = ({}, {})

    def difference(self, left: Expr, right: Expr) -> str | None:
        """The first difference with the path to it, or None."""
        stack: list[tuple[Expr, Expr, Path]] = [(left, right, None)]
        while stack:
            left_node, right_node, path = stack.pop()
            if self._joined.same(left_node, right_node):
                continue
            found = self._node_difference(left_node, right_node)
            if found is not None:
                return f"{_path_text(path)}{found}"
            self._joined.join(left_node, right_node)
            pairs = zip(children(left_node), children(right_node), strict=True)
            stack += reversed(
                [(a, b, (path, left_node, index)) for index, (a, b) in enumerate(pairs)]
            )
        return None

    def _node_difference(self, left: Expr, right: Expr) -> str | None:
        if isinstance(left, Var) and isinstance(right, Var):
            return self._free_var_difference(left, right)
        if isinstance(left, Function) and isinstance(right, Function):
            for a, b in zip(left.type_params, right.type_params, strict=False):
                self._joined.join(a, b)
        difference = key_difference(
            node_key(left, self._joined.left_name), node_key(right, self._joined.right_name)
        )
        if difference is None:
            self._bind(left, right)
        return difference

    def _bind(self, left: Expr, right: Expr) -> None:
        for a, b in zip(bound_vars(left), bound_vars(right), strict=True):
            self._joined.join(a, b)
            self._bound[0].add(a)
            self._bound[1].add(b)

    def _free_var_difference(self, left: Var, right: Var) -> str | None:
        """Of two variables that were not bound together."""
        message = f"variable: %{left.name} and %{right.name}"
        if left in self._bound[0] or right in self._bound[1]:
            return message
        if not self._map_free_vars:
            return None if left is right else message
        if self._free[0].setdefault(left, right) is not right:
            return message
        if self._free[1].setdefault(right, left) is not left:
            return message
        left_type = type_key(left.annotation, self._joined.left_name)
        right_type = type_key(right.annotation, self._joined.right_name)
        return None if left_type == right_type else f"{message}, of types {left_type}, {right_type}"


def key_difference(left: Key, right: Key) -> str | None:
    """The first component in which two keys differ, as `what: left and right`."""
    for (what, left_value), (_, right_value) in zip(left, right, strict=False):
        if left_value != right_value:
            return f"{what}: {left_value} and {right_value}"
    return None


class _Correspondence:
    """A union-find over the nodes and variables of both sides."""

    def __init__(self) -> None:
        self._left: dict[object, int] = {}
        self._right: dict[object, int] = {}
        self._parents: list[int] = []

    def same(self, left: Expr, right: Expr) -> bool:
        """Whether two things were joined, directly or through others."""
        return self._root(self._left, left) == self._root(self._right, right)

    def join(self, left: Expr | TypeVar, right: Expr | TypeVar) -> None:
        """Say that two things correspond."""
        self._parents[self._root(self._left, left)] = self._root(self._right, right)

    def left_name(self, variable: TypeVar) -> str:
        """The name of a type parameter of the left side: equal if they correspond."""
        return self._name(self._left, variable)

    def right_name(self, variable: TypeVar) -> str:
        """The name of a type parameter of the right side."""
        return self._name(self._right, variable)

    def _name(self, ids: dict[object, int], variable: TypeVar) -> str:
        """Free type variables equal themselves only."""
        return f"#{self._root(ids, variable)}" if variable in ids else f"#free{id(variable)}"

    def _root(self, ids: dict[object, int], node: object) -> int:
        parents = self._parents
        index = ids.get(node)
        if index is None:
            index = ids[node] = len(parents)
            parents.append(index)
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index


def _path_text(path: Path) -> str:
    """The way from the root to a node: `body.arguments[0]: `; the middle of long ones is cut."""
    labels: list[str] = []
    while path is not None:
        path, node, index = path
        labels.append(_edge_label(node, index))
    labels.reverse()
    if len(labels) > _LONGEST_PATH:
        cut = len(labels) - _LONGEST_PATH
        half = _LONGEST_PATH // 2
        labels = [*labels[:half], f"<{cut} more>", *labels[-half:]]
    return ".".join(labels) + ": " if labels else ""


def _edge_label(node: Expr, index: int) -> str:
    match node:
        case Call():
            return "callee" if index == 0 else f"arguments[{index - 1}]"
        case Tuple():
            return f"fields[{index}]"
        case Function():
            return "body"
        case Let():
            return ("value", "body")[index]
        case If():
            return ("condition", "true_branch", "false_branch")[index]
        case Match():
            return "value" if index == 0 else f"clauses[{index - 1}]"
        case RefWrite():
            return ("ref", "value")[index]
        case _:
            return "value"
