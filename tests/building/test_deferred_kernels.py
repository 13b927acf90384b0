"""Programs whose kernels wait give what the interpreter gives."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.joined_schedules import with_shared_packing
from relay_tune.building.primitives import primitives_of, write_primitive
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.codegen.programs.queue_functions import LEVELS, RECORDS
from relay_tune.codegen.programs.queue_steps import BATCH_COST, smallest_counts
from relay_tune.codegen.target import native_target
from relay_tune.errors import RelayError
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.data_values import data_value, list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.runtime.model import Model
from relay_tune.std import prelude
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value
from tests.resident_memory import resident_bytes

SIZE = 96
ROW = f"Tensor[(1, {SIZE}), float32]"
SQUARE = f"Tensor[({SIZE}, {SIZE}), float32]"
TYPES = "type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]), }\n"
ENCODE = f"""
def @encode(%t: Tree[{ROW}], %w: {SQUARE}) -> {ROW} {{
  match (%t) {{
    Leaf(%x) => nn.dense(%x, %w),
    Node(%l, %r) => {{
      let %left = @encode(%l, %w);
      tanh(%left + nn.dense(@encode(%r, %w), %w)) + %left
    }},
  }}
}}
"""
RANDOM = np.random.default_rng(0)
WEIGHTS = {"w": (RANDOM.standard_normal((SIZE, SIZE)) / SIZE).astype(np.float32)}


def built(text: str, threads: int = 1) -> tuple[Module, Model]:
    module = BindParameters(WEIGHTS)(parse(TYPES + text, base=prelude("map", "foldl")))
    model = build(module, threads=threads)
    assert isinstance(model, Model)
    assert model.compiled().program.batches
    return module, model


def row() -> np.ndarray:
    return RANDOM.standard_normal((1, SIZE)).astype(np.float32)


def leaf() -> ConstructorValue:
    return data_value(parse(TYPES), "Leaf", row())


def node(left: ConstructorValue, right: ConstructorValue) -> ConstructorValue:
    return data_value(parse(TYPES), "Node", left, right)


def random_tree(leaves: int) -> ConstructorValue:
    nodes = [leaf() for _ in range(leaves)]
    while len(nodes) > 1:
        position = int(RANDOM.integers(len(nodes) - 1))
        nodes[position : position + 2] = [node(*nodes[position : position + 2])]
    return nodes[0]


def test_trees_of_many_shapes() -> None:
    module, model = built(
        ENCODE + f"def @main(%t: Tree[{ROW}], %w: {SQUARE}) {{ @encode(%t, %w) }}"
    )
    for leaves in (1, 2, 3, 9, 16, 17, 40, 75):
        tree = random_tree(leaves)
        assert_same_value(model(tree), interpret(module, tree), f"{leaves} leaves")


def test_more_levels_and_more_calls_than_the_queue_holds() -> None:
    text = f"""
def @main(%n: int32, %x: {ROW}, %w: {SQUARE}) {{
  let %grow = fn (%i: int32, %s: {ROW}, %all: List[{ROW}]) -> List[{ROW}] {{
    if (%i == 0) {{ %all }} else {{
      let %next = tanh(nn.dense(%s, %w) + %x);
      %grow(%i - 1, %next, Cons(nn.dense(%x, %w), Cons(%next, %all)))
    }}
  }};
  %grow(%n, %x, %grow(%n, negative(%x), Nil))
}}
"""
    module, model = built(text)
    steps = LEVELS + RECORDS // 3
    x = row()
    found, expected = model(steps, x), interpret(module, steps, x)
    for _ in range(4 * steps):
        assert isinstance(found, ConstructorValue)
        assert isinstance(expected, ConstructorValue)
        assert_same_value(found.fields[0], expected.fields[0])
        found, expected = found.fields[1], expected.fields[1]


def test_numbers_are_taken_of_what_waits() -> None:
    text = f"""
def @main(%t: Tree[{ROW}], %w: {SQUARE}) {{
  let %root = @encode(%t, %w);
  if (sum(%root) < 0f) {{ (negative(%root), sum(%root)) }} else {{ (%root, sum(%root)) }}
}}
"""
    module, model = built(ENCODE + text)
    for leaves in (1, 7):
        tree = random_tree(leaves)
        assert_same_value(model(tree), interpret(module, tree))


def test_results_inside_of_data_types_and_on_two_threads() -> None:
    text = f"""
def @main(%ts: List[Tree[{ROW}]], %w: {SQUARE}) {{
  (@map(fn (%t: Tree[{ROW}]) {{ @encode(%t, %w) }}, %ts), %ts)
}}
"""
    module, model = built(ENCODE + text, threads=2)
    trees = list_value([random_tree(leaves) for leaves in (3, 1, 5)])
    assert_same_value(model(trees), interpret(module, trees))


def test_an_error_forgets_what_waits() -> None:
    text = f"""
def @main(%t: Tree[{ROW}], %w: {SQUARE}) {{
  let %root = @encode(%t, %w);
  match? (%t) {{ Node(_, Leaf(_)) => %root }}
}}
"""
    module, model = built(ENCODE + text)
    good = node(random_tree(4), leaf())
    for _ in range(3):
        with pytest.raises(RelayError, match="No clause"):
            model(node(leaf(), random_tree(4)))
        assert_same_value(model(good), interpret(module, good))


def test_memory_stays_flat() -> None:
    _, model = built(ENCODE + f"def @main(%t: Tree[{ROW}], %w: {SQUARE}) {{ @encode(%t, %w) }}")
    tree = random_tree(30)
    for _ in range(20):
        model(tree)
    before = resident_bytes()
    for _ in range(2000):
        model(tree)
    assert resident_bytes() - before < 4 << 20


def test_all_numbers_of_rows_read_the_same_packed_weights() -> None:
    module = BindParameters(WEIGHTS)(
        parse(TYPES + ENCODE + f"def @main(%t: Tree[{ROW}], %w: {SQUARE}) {{ @encode(%t, %w) }}")
    )
    program = lower_program(program_module(infer_types(module)))
    target = native_target()
    primitives = primitives_of(program_kernels(program))
    shared = with_shared_packing(primitives, program, target, 1, None)
    for batches in program.batches.values():
        codes = [write_primitive(shared[each], target, 1, None) for each in batches.values()]
        recipes = {packed.recipe for code in codes for packed in code.scheduled.packed}
        assert len(recipes) == 1


@pytest.mark.parametrize("sizes", [(64, 16, 8, 4, 2), (4,), (1, 4)])
def test_sizes_of_batches_are_taken_where_smaller_ones_take_longer(sizes: tuple[int, ...]) -> None:
    least = smallest_counts(sizes)
    assert list(least) == sorted(sizes, reverse=True)

    def rows(count: int) -> list[int]:
        taken: list[int] = []
        while count > 0:
            taken.append(next(size for size, fewest in least.items() if count >= fewest))
            count -= taken[-1]
        return taken

    for count in range(1, 100):
        spent = sum(BATCH_COST + size for size in rows(count))
        assert all(spent <= -(-count // size) * (BATCH_COST + size) for size in sizes)
    if sizes[0] == 64:
        assert [rows(n) for n in (11, 13, 59)] == [[8, 4], [16], [64]]
