"""Random recursions over trees that add up products keep their answers when rows are collected.

Numbers are small and whole, so that sums are exact in any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.row_sums.collect_rows import CollectRows
from relay_tune.typing.infer import infer_types

SUM = "Tensor[(3, 4), float32]"
ROWS = "%d: Tensor[(1, 3), float32], %x: Tensor[(1, 4), float32]"
TYPES = f"""
type Tree {{ Node(Tensor[(1, 3), float32], Tensor[(1, 4), float32], Tree, Tree), Leaf }}
type Box {{ Box({SUM}, {SUM}), Empty }}
"""
ZEROS = "zeros(shape=(3, 4))"
TERMS = (
    "nn.matmul(%d, %x, transpose_a=True)",
    "nn.matmul(%d + %d, %x, transpose_a=True)",
    ZEROS,
)
OTHERS = ("({} * 2f)", "({} + ones(shape=(3, 4)))")
"""What sums over rows are not."""
D = np.asarray([[1, -2, 3]], np.float32)
X = np.asarray([[2, 0, 1, -1]], np.float32)


class _Writer:
    """Writes one program; most use each value once, as sums that are collected have to."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0
        self._is_careless = self._random.random() < 0.3

    def program(self) -> str:
        """A recursion over a tree, and a main that reads its result."""
        kind = self._random.choice(("sum", "tuple", "box"))
        step = self._use(
            kind, "@f(%l)", lambda u: self._use(kind, "@f(%r)", lambda v: self._made(kind, u + v))
        )
        types = {"sum": SUM, "tuple": f"({SUM}, {SUM})", "box": "Box"}
        ends = {"sum": ZEROS, "tuple": f"({ZEROS}, {ZEROS})", "box": "Empty"}
        main = self._use(kind, f"@f({self._tree(5)})", lambda found: self._sum(found, 2))
        return (
            f"{TYPES}def @f(%t: Tree) -> {types[kind]} {{ match (%t) {{ "
            f"Node(%d, %x, %l, %r) => {step}, Leaf => {ends[kind]} }} }}\n"
            f"def @main({ROWS}) {{ {main} }}"
        )

    def _new(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def _tree(self, nodes: int) -> str:
        if nodes == 0:
            return "Leaf"
        left = self._random.randrange(nodes)
        return f"Node(%d + %d, %x - 1f, {self._tree(left)}, {self._tree(nodes - 1 - left)})"

    def _made(self, kind: str, known: list[str], depth: int = 3) -> str:
        if kind == "sum":
            return self._sum(known, depth)
        fields = f"({self._sum(known, depth)}, {self._sum(known, depth)})"
        return fields if kind == "tuple" else f"Box{fields}"

    def _use(self, kind: str, value: str, body: Callable[[list[str]], str]) -> str:
        """A block that takes a value apart; `body` is given the names of its sums."""
        one, other = self._new(), self._new()
        if kind == "box":
            taken = f"Box({one}, {other}) => {body([one, other])}"
            return f"(match ({value}) {{ {taken}, Empty => {body([])} }})"
        parts = [one] if kind == "sum" else [f"{one}.0", f"{one}.1"]
        return f"{{ let {one} = {value}; {body(parts)} }}"

    def _sum(self, known: list[str], depth: int) -> str:
        """An expression; what it uses is known no longer."""
        choice = self._random.random()
        if depth == 0 or choice < 0.2:
            return self._leaf(known)
        if choice < 0.5:
            return f"({self._sum(known, depth - 1)} + {self._sum(known, depth - 1)})"
        if choice < 0.65:
            first, second = list(known), list(known)
            one, other = self._sum(first, depth - 1), self._sum(second, depth - 1)
            known[:] = [name for name in first if name in second]
            return f"(if (sum(%x) < 1f) {{ {one} }} else {{ {other} }})"
        if choice < 0.95:
            kind = self._random.choice(("sum", "tuple", "box"))
            value = self._made(kind, known, depth - 1)
            return self._use(kind, value, lambda parts: self._sum([*parts, *known], depth - 1))
        inner = self._sum(known, depth - 1)
        return self._random.choice(OTHERS).format(inner) if self._is_careless else inner

    def _leaf(self, known: list[str]) -> str:
        if not known or self._random.random() < 0.5:
            return self._random.choice(TERMS)
        name = self._random.choice(known)
        if not self._is_careless or self._random.random() < 0.7:
            known.remove(name)
        return name


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_answers_are_kept(first: int) -> None:
    collected = 0
    for seed in range(first, first + 10):
        text = _Writer(seed).program()
        module = infer_types(parse(text))
        graph = infer_types(ToGraphNormalForm()(module))
        wanted = interpret(module, D, X)
        for before in (module, graph):
            after = infer_types(CollectRows()(before))
            np.testing.assert_array_equal(interpret(after, D, X), wanted, err_msg=text)
            collected += "Rows" in after.astext()
    assert collected
