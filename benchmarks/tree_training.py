"""A child-sum TreeLSTM over random trees, to be trained: as a program in Python, and in torch.

K. Tai, R. Socher and C. Manning, "Improved semantic representations from tree-structured long
short-term memory networks" (ACL 2015), section 3.1.
"""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F821, UP037

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import relay_tune as rt

WIDTH, CLASSES, NODES, TREES = 128, 5, 59, 8
"""Of values and states; of the targets; of a tree; in a batch."""


@dataclass(frozen=True)
class Node:
    """A tree: the value of its root, as both sides take it, and its children."""

    value: np.ndarray
    tensor: torch.Tensor
    children: "list[Node]"


@rt.relay_model
class TreeLSTM:
    """The network; its functions are translated."""

    own: f"Tensor[({4 * WIDTH}, {WIDTH}), float32]"
    own_bias: f"Tensor[({4 * WIDTH}), float32]"
    below: f"Tensor[({3 * WIDTH}, {WIDTH}), float32]"
    forget: f"Tensor[({WIDTH}, {WIDTH}), float32]"
    head: f"Tensor[({CLASSES}, {WIDTH}), float32]"

    def state(self, tree: f"Tree[Tensor[(1, {WIDTH}), float32]]"):
        match tree:
            case Rose(value, children):
                projected = value @ self.own.T + self.own_bias
                enter, leave, candidate, gate = np.split(projected, 4, axis=1)
                hidden = np.zeros((1, WIDTH), "float32")
                kept = np.zeros((1, WIDTH), "float32")
                for child in children:
                    h, c = self.state(child)
                    kept = kept + sigmoid(gate + h @ self.forget.T) * c
                    hidden = hidden + h
                i, o, u = np.split(hidden @ self.below.T, 3, axis=1)
                cell = sigmoid(enter + i) * np.tanh(candidate + u) + kept
                return (sigmoid(leave + o) * np.tanh(cell), cell)

    def main(self, trees: f"List[Tree[Tensor[(1, {WIDTH}), float32]]]"):
        rows: f"Tensor[(?, {WIDTH}), float32]" = np.zeros((0, WIDTH), "float32")
        for tree in trees:
            rows = np.concatenate((rows, self.state(tree)[0]), axis=0)
        return rows @ self.head.T


class TorchTreeLSTM(nn.Module):
    """The same network, with the weights of the other one."""

    def __init__(self, weights: Any) -> None:
        super().__init__()
        for name in ("own", "own_bias", "below", "forget", "head"):
            setattr(self, name, nn.Parameter(torch.tensor(getattr(weights, name))))

    def state(self, tree: Node) -> tuple[torch.Tensor, torch.Tensor]:
        projected = tree.tensor @ self.own.T + self.own_bias
        enter, leave, candidate, gate = projected.chunk(4, 1)
        hidden, kept = torch.zeros(1, WIDTH), torch.zeros(1, WIDTH)
        for child in tree.children:
            h, c = self.state(child)
            kept = kept + torch.sigmoid(gate + h @ self.forget.T) * c
            hidden = hidden + h
        i, o, u = (hidden @ self.below.T).chunk(3, 1)
        cell = torch.sigmoid(enter + i) * torch.tanh(candidate + u) + kept
        return torch.sigmoid(leave + o) * torch.tanh(cell), cell

    def forward(self, trees: list[Node]) -> torch.Tensor:
        return torch.cat([self.state(tree)[0] for tree in trees]) @ self.head.T


def random_tree(nodes: int, rng: np.random.Generator) -> Node:
    """A tree of so many nodes; those with several children have two."""
    value = rng.normal(size=(1, WIDTH)).astype(np.float32)
    parts = [nodes - 1] if nodes == 2 else []
    if nodes > 2:
        left = int(rng.integers(1, nodes - 1))
        parts = [left, nodes - 1 - left]
    return Node(value, torch.tensor(value), [random_tree(part, rng) for part in parts])


def tree_steps(
    threads: int,
) -> tuple[Callable[..., float], Callable[..., float], Iterator[tuple[Any, Any]]]:
    """Our step, that of torch, and batches: the arguments of the one and of the other."""
    weights = TreeLSTM.random(seed=0)
    ours = rt.training.step(
        weights.main.module, "cross_entropy", rt.training.SGD(0.01), threads=threads
    )
    network = TorchTreeLSTM(weights)
    optimiser = torch.optim.SGD(network.parameters(), 0.01)

    def theirs(trees: list[Node], targets: torch.Tensor) -> float:
        optimiser.zero_grad()
        loss = functional.cross_entropy(network(trees), targets)
        loss.backward()
        optimiser.step()
        return loss.item()

    return ours, theirs, _batches()


def _batches() -> Iterator[tuple[Any, Any]]:
    rng, prelude = np.random.default_rng(0), rt.prelude("Tree")

    def value(tree: Node) -> Any:
        children = rt.list_value([value(child) for child in tree.children])
        return rt.data_value(prelude, "Rose", tree.value, children)

    while True:
        trees = [random_tree(NODES, rng) for _ in range(TREES)]
        targets = rng.integers(0, CLASSES, TREES)
        batch = rt.list_value([value(tree) for tree in trees])
        yield (batch, targets), (trees, torch.tensor(targets))
