import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.tensor import index
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Literal,
    Scalar,
    binary,
    cast,
    literal,
    select,
    unary,
)
from relay_tune.tensor.index import (
    FlatTensors,
    can_fuse,
    decide,
    divided_axis,
    expression_of,
    flat_index,
    flat_place,
    is_injective,
    simplify,
)
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.walk import sub_expressions, substitute

AXES = (Axis("i", 4), Axis("j", 3), Axis("k", 6))
DIVISIONS = ("floordiv", "floormod")


def values(root: Scalar, axes: tuple[Axis, ...] = AXES) -> np.ndarray:
    """The expression at every point of the axes."""
    shape = tuple(axis.extent for axis in axes)
    grid = {
        axis: np.arange(axis.extent).reshape((-1,) + (1,) * (len(axes) - dimension - 1))
        for dimension, axis in enumerate(axes)
    }
    return np.broadcast_to(scalar_value(root, grid, {}), shape)


def with_divisions(root: Scalar) -> int:
    return sum(isinstance(n, Binary) and n.operation in DIVISIONS for n in sub_expressions(root))


@st.composite
def indices(draw, depth: int = 4) -> Scalar:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(AXES))
    operation = draw(st.sampled_from(["add", "sub", "mul", "floordiv", "floormod", "select"]))
    left = draw(indices(depth - 1))
    if operation in ("add", "sub"):
        return binary(operation, left, draw(indices(depth - 1)))
    if operation == "select":
        compare = draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))
        condition = binary(compare, left, draw(st.integers(-3, 9)))
        return select(condition, draw(indices(depth - 1)), draw(indices(depth - 1)))
    return binary(operation, left, draw(st.integers(1, 7)))


@settings(max_examples=200, deadline=None)
@given(indices())
def test_simplify_keeps_values(index):
    simple = simplify(index)
    np.testing.assert_array_equal(values(simple), values(index))
    assert with_divisions(simple) <= with_divisions(index)


@settings(max_examples=100, deadline=None)
@given(indices(), st.permutations((Axis("a", 4), Axis("b", 6), Axis("c", 24))))
def test_axes_are_replaced_before_sums_are_put_in_one_form(index, others):
    """The terms of a sum may share sub-expressions otherwise; it has no more divisions."""
    replaced = {AXES[0]: others[0] * 6 + others[1], AXES[1]: others[1], AXES[2]: others[2] // 4}
    at_once, one_by_one = simplify(index, replaced), simplify(substitute(index, replaced))
    np.testing.assert_array_equal(values(at_once, others), values(one_by_one, others))
    assert with_divisions(at_once) == with_divisions(one_by_one)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=3, max_size=3), st.integers(-9, 9))
def test_expression_of_a_form_has_its_values(factors, number):
    terms = {axis: factor for axis, factor in zip(AXES, factors, strict=True) if factor}
    expected = number + sum(values(axis) * factor for axis, factor in terms.items())
    np.testing.assert_array_equal(
        values(expression_of(Affine(terms, number))), expected + values(AXES[0]) * 0
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(indices(), min_size=2, max_size=2))
def test_a_flat_place_is_the_simplified_offset(places):
    place, offset = flat_place((9, 7), places), flat_index((9, 7), places)
    np.testing.assert_array_equal(values(place), values(offset))
    assert with_divisions(place) == with_divisions(simplify(offset))


def test_divisions_of_a_flat_index_disappear():
    i, j, k = AXES
    flat = flat_index((4, 3, 6), AXES)
    assert with_divisions(simplify(flat // 18)) == 0
    np.testing.assert_array_equal(values(simplify(flat // 6 % 3)), values(j))
    assert with_divisions(simplify(flat // 6 % 3)) == 0
    assert with_divisions(simplify(flat // 4)) == 1


def test_selects_that_extents_settle_disappear():
    i, j, _ = AXES
    x, y = literal(1.0, "float32"), literal(2.0, "float32")
    assert simplify(select(binary("lt", i + j, 6), x, y)) is x
    assert simplify(select(binary("ge", i, 4), x, y)) is y
    kept = select(binary("lt", i, 3), x, y)
    assert simplify(kept) is kept


@pytest.mark.parametrize("operation", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("bound", range(-2, 7))
def test_decide_is_right_and_decides_all_that_is_settled(operation, bound):
    condition = binary(operation, AXES[0], bound)
    truth = {bool(value) for value in values(condition).ravel()}
    assert decide(condition) == (truth.pop() if len(truth) == 1 else None)


def test_decide_sees_through_and_and_or():
    i = AXES[0]
    never, always, open_ = (binary(o, i, n) for o, n in (("lt", 0), ("ge", 0), ("lt", 2)))
    assert decide(binary("and", open_, never)) is False
    assert decide(binary("or", open_, always)) is True
    assert decide(binary("and", open_, always)) is None
    assert decide(binary("or", never, never)) is False
    assert decide(literal(True, "bool")) is None


def test_flat_views_are_shared_and_read_the_same_elements():
    a = input_tensor("a", (4, 3, 6), "int32")
    flat = FlatTensors()
    i, j, k = AXES
    root = a[i, j, k] + a[i, 2, 0]
    flattened = flat.flatten(root)
    assert flat.flatten(flattened) is flattened
    data = np.arange(72, dtype="int32").reshape(4, 3, 6)
    grid = {axis: values(axis) for axis in AXES}
    found = scalar_value(flattened, grid, {flat.view(a): data.reshape(-1)})
    np.testing.assert_array_equal(found, scalar_value(root, grid, {a: data}))
    assert len(flat.views) == 1 and flat.view(flat.view(a)) is flat.view(a)


def test_an_axis_that_a_division_cuts_is_found_and_splitting_it_helps():
    i, k = Axis("i", 4), Axis("k", 6)
    root = (i * 6 + k) // 3
    axis, inner = divided_axis(root)
    assert (axis, inner) == (k, 3)
    outer, rest = Axis("ko", 2), Axis("ki", 3)
    split = simplify(substitute(root, {k: outer * 3 + rest}))
    assert with_divisions(split) == 0
    assert divided_axis(split) is None
    assert divided_axis(Axis("n", 7) // 3) is None


def test_axes_fuse_where_all_accesses_treat_them_as_one():
    i, j, k = Axis("i", 4), Axis("j", 3), Axis("k", 5)
    a, b = input_tensor("a", (12, 5), "float32"), input_tensor("b", (12,), "float32")
    c = input_tensor("c", (3,), "float32")
    joint = a[i * 3 + j, k]
    assert can_fuse(i, j, [joint * b[i * 3 + j]])
    assert can_fuse(i, j, [a[0, k]])
    assert not can_fuse(i, j, [joint * c[j]])
    assert not can_fuse(j, i, [joint])
    assert not can_fuse(i, j, [i * 3 + j + 0 * k, i * 4 + j])


def test_axes_whose_value_is_used_do_not_fuse():
    i, j = Axis("i", 4), Axis("j", 3)
    a = input_tensor("a", (12,), "float32")
    guarded = select(binary("lt", j, 2), a[i * 3 + j], literal(0.0, "float32"))
    assert not can_fuse(i, j, [guarded])
    assert not can_fuse(i, j, [unary("neg", a[i * 3 + j]) + a[(i * 3 + j) // 2 + i]])
    assert not can_fuse(i, j, [cast(j, "float32") + a[i * 3 + j]])
    assert not can_fuse(i, j, [cast(unary("neg", i), "float32")])
    assert not can_fuse(i, j, [cast(select(binary("lt", i * 3 + j, 5), i, j), "float32")])
    assert can_fuse(i, j, [cast(i * 3 + j, "float32")])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=3, max_size=3))
def test_injective_forms_never_repeat_a_value(factors):
    form = Affine({a: f for a, f in zip(AXES, factors, strict=True) if f})
    found = values(expression_of(form)).ravel()
    if is_injective(form, AXES):
        assert len(set(found.tolist())) == len(found)


def test_row_major_indices_are_injective():
    form = Affine({AXES[0]: 18, AXES[1]: 6, AXES[2]: 1}, 7)
    assert is_injective(form, AXES)
    assert not is_injective(Affine({AXES[0]: 1, AXES[1]: 1}), AXES[:2])
    assert isinstance(simplify(AXES[0] * 0), Literal)


def test_a_long_sum_is_read_once_for_its_form(monkeypatch: pytest.MonkeyPatch) -> None:
    i, read = Axis("i", 100), []
    form_of = index.axis_affine

    def counted(node: Scalar) -> Affine | None:
        read.append(len(sub_expressions(node)))
        return form_of(node)

    monkeypatch.setattr(index, "axis_affine", counted)
    total: Scalar = i // 7
    for term in range(1, 40):
        total = total + i // (7 + term)
    assert simplify(total) is total
    assert sum(read) <= 3 * len(sub_expressions(total))
