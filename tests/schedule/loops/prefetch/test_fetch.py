"""What turns ask for, whatever it is."""

import pytest

from relay_tune.schedule.loops.prefetch.fetch import Fetch, Turns, digits
from relay_tune.tensor.expression import INDEX, Axis, literal
from relay_tune.tensor.loops import Branch, Prefetch
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.touched import statements

OUTER, INNER = Axis("o", 3), Axis("i", 4)


def value(expression, **at):
    return int(scalar_value(expression, {OUTER: at.get("o", 0), INNER: at.get("i", 0)}, {}))


@pytest.mark.parametrize("waiting", [0, 3, 11])
@pytest.mark.parametrize("pieces", [1, 5, 11, 12, 13, 24, 100])
def test_turns_ask_for_every_piece_once(pieces: int, waiting: int):
    turns = Turns((OUTER, INNER))
    in_turn, limits = turns.divided(pieces, waiting)
    points = [{"o": o, "i": i} for o in range(3) for i in range(4)]
    assert [value(turns.number, **at) for at in points] == list(range(turns.count))
    asking = [at for at in points if all(value(each, **at) < end for each, end in limits)]
    assert asking == points[waiting : waiting + len(asking)]
    assert (len(asking) - 1) * in_turn < pieces <= len(asking) * in_turn


def test_digits_are_the_iterations_of_nested_loops():
    counts = (2, 3, 4)
    for number in range(24):
        found = [value(digit) for digit in digits(literal(number, INDEX), counts)]
        assert found == [number % 4, number // 4 % 3, number // 12]


def test_lines_are_asked_for_within_their_limits():
    x = input_tensor("x", (2, 64), "float32")
    lines = tuple((x, literal(offset, INDEX)) for offset in (0, 16))
    found = Fetch(lines, ((OUTER, 2), (INNER, 3)), near=True).statement
    limits = [node.condition for node in statements(found) if isinstance(node, Branch)]
    assert [(limit.left, limit.right.value) for limit in limits] == [(INNER, 3), (OUTER, 2)]
    fetched = [node for node in statements(found) if isinstance(node, Prefetch)]
    assert [[value(index) for index in each.indices] for each in fetched] == [[0, 0], [0, 16]]
    assert all(each.near and not each.for_write for each in fetched)
