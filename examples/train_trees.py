"""Train a TreeLSTM to tell whether formulas of logic are true.

    python examples/train_trees.py [--steps 400]

A formula is a value of a data type, and the network is a recursive function over it: no two trees
of a batch have the same form, and nothing is padded. Larger formulas than those of the training are
read at the end.
"""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import argparse
import time

import numpy as np

import relay_tune as rt

KINDS = ("false", "true", "not", "and", "or")
WIDTH, BATCH = 32, 32
TREE = f"Tree[Tensor[(1, {len(KINDS)}), float32]]"


@rt.relay_model
class TreeLSTM:
    """Sums over children, with a gate for each (Tai et al., 2015, section 3.1)."""

    own: f"Tensor[({4 * WIDTH}, {len(KINDS)}), float32]"
    own_bias: f"Tensor[({4 * WIDTH}), float32]"
    below: f"Tensor[({3 * WIDTH}, {WIDTH}), float32]"
    forget: f"Tensor[({WIDTH}, {WIDTH}), float32]"
    head: f"Tensor[(2, {WIDTH}), float32]"

    def state(self, tree: TREE):
        match tree:
            case Rose(kind, children):
                gates = np.split(kind @ self.own.T + self.own_bias, 4, axis=1)
                hidden, kept = np.zeros((1, WIDTH), "float32"), np.zeros((1, WIDTH), "float32")
                for child in children:
                    child_hidden, child_cell = self.state(child)
                    share = sigmoid(gates[3] + child_hidden @ self.forget.T)
                    hidden, kept = hidden + child_hidden, kept + share * child_cell
                below = np.split(hidden @ self.below.T, 3, axis=1)
                cell = sigmoid(gates[0] + below[0]) * np.tanh(gates[2] + below[2]) + kept
                return (sigmoid(gates[1] + below[1]) * np.tanh(cell), cell)

    def main(self, trees: f"List[{TREE}]"):
        """The scores of being false and of being true, a row for each tree."""
        rows: f"Tensor[(?, {WIDTH}), float32]" = np.zeros((0, WIDTH), "float32")
        for tree in trees:
            rows = np.concatenate((rows, self.state(tree)[0]), axis=0)
        return rows @ self.head.T


LIBRARY = rt.prelude("Tree")


def formula(generator: np.random.Generator, depth: int) -> tuple[object, bool]:
    """A random formula of at most this depth, and whether it is true."""
    kind = int(generator.integers(0, 5 if depth else 2))
    parts = [formula(generator, depth - 1) for _ in range((0, 0, 1, 2, 2)[kind])]
    truths = [truth for _, truth in parts]
    truth = (False, True, not any(truths), all(truths), any(truths))[kind]
    value = np.eye(len(KINDS), dtype=np.float32)[kind : kind + 1]
    children = rt.list_value([child for child, _ in parts])
    return rt.data_value(LIBRARY, "Rose", value, children), truth


def batch(generator: np.random.Generator, count: int, depth: int) -> tuple[object, np.ndarray]:
    """Formulas, and 1 for each that is true."""
    found = [formula(generator, depth) for _ in range(count)]
    return rt.list_value([tree for tree, _ in found]), np.array([truth for _, truth in found], int)


def main(steps: int) -> None:
    """Train on small formulas, and read larger ones."""
    generator = np.random.default_rng(0)
    rate = rt.training.Cosine(1e-2, steps=steps)
    module = TreeLSTM.random(seed=0).main.module
    step = rt.training.step(module, "cross_entropy", rt.training.Adam(rate), clip=1.0)
    begin = time.perf_counter()
    for number in range(steps):
        loss = step(*batch(generator, BATCH, depth=4))
        if number % 100 == 0 or number == steps - 1:
            print(f"step {number:3}: loss {loss:.3f}")
    print(f"{steps * BATCH / (time.perf_counter() - begin):,.0f} formulas a second")

    trees, truths = batch(np.random.default_rng(1), 500, depth=6)
    scores = rt.build(step.trained())(trees)
    print(f"right: {np.mean(np.argmax(scores, axis=1) == truths):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args().steps)
