"""A hash of an expression graph that does not depend on names or on sharing.

A bound variable is named by its binder's height: one more than the greatest height of a binder
inside the binder's own parts. Heights fall strictly on the way down, so on each path they tell the
binders apart; and they depend on nothing above the binder, so each node is hashed once however
often it is shared. Free variables are numbered in the order of their first use.
"""

from __future__ import annotations

import hashlib

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.structural_keys import node_key, type_key
from relay_tune.ir.traversal import bound_vars, children, free_vars, post_order
from relay_tune.ir.types import TypeVar


def expression_hash(root: Expr) -> str:
    """The hash as 32 hexadecimal digits, the same on every machine."""
    names = _Names(root)
    digests: dict[Expr, str] = {}
    for node in post_order(root):
        parts = [digests[child] for child in children(node)]
        digests[node] = text_hash(names.own_key(node), *parts)
    return digests[root]


def text_hash(*parts: str) -> str:
    """The hash of a list of texts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


class _Names:
    """The names of variables by the heights of their binders."""

    def __init__(self, root: Expr) -> None:
        self._of: dict[Var | TypeVar, str] = {
            var: f"free{index}" for index, var in enumerate(free_vars(root))
        }
        heights: dict[Expr, int] = {}
        for node in post_order(root):
            height = max((heights[child] for child in children(node)), default=0)
            bound: list[Var | TypeVar] = list(bound_vars(node))
            if isinstance(node, Function):
                bound += node.type_params
            heights[node] = height + 1 if bound else height
            for index, variable in enumerate(bound):
                self._of[variable] = f"bound{heights[node]}.{index}"

    def own_key(self, node: Expr) -> str:
        """The part of a node that counts, without its children."""
        if not isinstance(node, Var):
            return repr(node_key(node, self._type_name))
        name = self._of[node]
        if name.startswith("bound"):
            return name
        return f"{name}: {type_key(node.annotation, self._type_name)}"

    def _type_name(self, variable: TypeVar) -> str:
        return "#" + self._of.get(variable, "free")
