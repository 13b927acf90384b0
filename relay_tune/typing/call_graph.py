"""Which functions of a module use which, and in what order to type them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay_tune.ir.expr import Expr, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.reached import reached
from relay_tune.ir.traversal import post_order


def used_globals(expr: Expr) -> tuple[str, ...]:
    """The names of the module's functions that an expression mentions, in order of first use."""
    return tuple(
        dict.fromkeys(node.name for node in post_order(expr) if isinstance(node, GlobalVar))
    )


def functions_used_by(module: Module, name: str) -> set[str]:
    """A function of the module and those that it uses, itself or through others; none if there is
    no such function."""

    def used(current: str) -> tuple[str, ...]:
        return used_globals(module[current]) if current in module.functions else ()

    return {each for each in reached([name], used) if each in module.functions}


def recursive_groups(module: Module) -> list[tuple[str, ...]]:
    """The functions in groups that use each other, a group after all groups that it uses.

    These are the strongly connected components, by R. Tarjan, "Depth-first search and linear
    graph algorithms", 1972, with the recursion made a stack.
    """
    uses = {
        name: tuple(used for used in used_globals(function) if used in module.functions)
        for name, function in module.functions.items()
    }
    return strongly_connected(uses)


def strongly_connected(edges: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The strongly connected components of a graph, each after all that it has edges to."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: dict[str, None] = {}
    groups: list[tuple[str, ...]] = []

    def start(node: str) -> tuple[str, Iterator[str]]:
        index[node] = lowest[node] = len(index)
        open_nodes[node] = None
        return node, iter(edges[node])

    def finish(node: str) -> None:
        if lowest[node] != index[node]:
            return
        group: list[str] = []
        while not group or group[-1] != node:
            group.append(open_nodes.popitem()[0])
        groups.append(tuple(reversed(group)))

    for root in edges:
        stack = [start(root)] if root not in index else []
        while stack:
            node, successors = stack[-1]
            following = next(successors, None)
            if following is None:
                stack.pop()
                finish(node)
                if stack:
                    parent = stack[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
            elif following not in index:
                stack.append(start(following))
            elif following in open_nodes:
                lowest[node] = min(lowest[node], index[following])
    return groups
