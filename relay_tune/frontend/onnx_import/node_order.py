"""The nodes of a graph in an order in which every value is computed before it is used.

The standard wants files to be sorted. Converters write files that are not, with the nodes that they
add at the end, and other runtimes sort them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from onnx import GraphProto, NodeProto


def in_order(nodes: Sequence[NodeProto]) -> Sequence[NodeProto]:
    """The nodes sorted, those that could come first in their own order; as they are in a circle."""
    sources = {name: n for n, node in enumerate(nodes) for name in node.output if name}
    readers = defaultdict[int, list[int]](list)
    missing = [0] * len(nodes)
    for number, node in enumerate(nodes):
        for source in {sources[name] for name in names_read(node) if name in sources}:
            readers[source].append(number)
            missing[number] += 1
    if all(source < number for source, found in readers.items() for number in found):
        return nodes
    ready = [number for number, count in enumerate(missing) if not count]
    order: list[NodeProto] = []
    while ready:
        number = heappop(ready)
        order.append(nodes[number])
        for reader in readers[number]:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, reader)
    return order if len(order) == len(nodes) else nodes


def names_read(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that its graphs do, their own included."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield from current.input
        for graph in _graphs(current):
            yield from (output.name for output in graph.output)
            stack += graph.node


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
