import pytest

from relay_tune.tensor.dependencies import dependencies, scalar_nodes, tensors_in_order
from relay_tune.tensor.expression import Axis, Load, binary, cast, literal, reduce, select, unary
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import (
    axes_of,
    contains_load,
    loads,
    operands,
    rebuild,
    replace_nodes,
    share_equal,
    sub_expressions,
    substitute,
    transform,
)

ROW, COLUMN = Axis("i", 4), Axis("j", 3)
A = input_tensor("a", (4, 3), "float32")
X = A[ROW, COLUMN]


def deep(levels: int):
    value = X
    for _ in range(levels):
        value = value + value
    return value


@pytest.mark.parametrize(
    "node",
    [
        X,
        unary("exp", X),
        X * X,
        select(binary("lt", ROW, COLUMN), X, 0.0),
        cast(X, "int8"),
        reduce("sum", [COLUMN], X),
        literal(2, "int8"),
        ROW,
    ],
)
def test_rebuilding_keeps_kind_type_and_identity(node):
    assert rebuild(node, operands(node)) is node
    changed = tuple(
        literal(1, operand.dtype) if operand.dtype != "int64" else literal(0, "int64")
        for operand in operands(node)
    )
    again = rebuild(node, changed)
    assert (type(again), again.dtype) == (type(node), node.dtype)
    assert operands(again) == changed


def test_shared_nodes_are_seen_once_operands_first():
    root = deep(5000)
    order = list(sub_expressions(root))
    assert len(order) == 5000 + 3
    assert order[-1] is root
    assert order.index(ROW) < order.index(X)
    assert list(scalar_nodes(root))[0] is root


def test_transform_keeps_sharing():
    doubled = transform(deep(5000), lambda n: unary("neg", n) if isinstance(n, Load) else n)
    assert len(list(sub_expressions(doubled))) == 5000 + 4


def test_substitute_replaces_axes_everywhere():
    root = substitute(unary("exp", X) + A[COLUMN, 0], {COLUMN: ROW + 1})
    assert axes_of(root) == (ROW,)
    untouched = substitute(X, {Axis("other", 4): ROW})
    assert untouched is X


def test_loads_and_axes():
    root = X + A[ROW, 0]
    assert len(loads(root)) == 2
    assert contains_load(root) and not contains_load(ROW + COLUMN)
    assert set(axes_of(root)) == {ROW, COLUMN}


def test_replaced_nodes_are_not_entered():
    y = unary("tanh", X)
    root = replace_nodes(y * y, {X: y})
    assert root.left is root.right
    assert root.left.operand is y


def test_tensors_come_after_what_they_read():
    first = compute("first", (4, 3), lambda i, j: A[i, j] * 2.0)
    second = compute("second", (4,), lambda i: first[i, 0] + A[i, 1])
    third = compute("third", (4,), lambda i: second[i] + first[i, 2])
    assert tensors_in_order([third, first]) == [A, first, second, third]
    assert dependencies(third) == (second, first)


def test_equal_parts_become_one():
    one, other = A[ROW + 0, COLUMN] * 2.0, A[ROW + 0, COLUMN] * 2.0
    assert one is not other
    shared = share_equal(one + unary("exp", other))
    assert shared.left is shared.right.operand
    assert len(loads(shared)) == 1


def test_what_differs_stays_apart():
    other_row, b = Axis("i", 4), input_tensor("b", (4, 3), "float32")
    zero, negative_zero = literal(0.0, "float32"), literal(-0.0, "float32")
    parts = [A[other_row, COLUMN], b[ROW, COLUMN], zero, negative_zero, cast(X, "float64")]
    root = X
    for part in parts:
        root = select(binary("lt", cast(part, "float32"), X), root, X * 1.0)
    shared = share_equal(root)
    assert len(loads(shared)) == 3
    assert negative_zero in sub_expressions(shared) and zero in sub_expressions(shared)
