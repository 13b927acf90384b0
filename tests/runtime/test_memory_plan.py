from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.runtime.memory_plan import Lifetime, plan_blocks, plan_memory

LIFETIMES = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 12),
        st.integers(0, 6),
    ),
    max_size=25,
)


@given(LIFETIMES, st.sampled_from([None, 0]))
@settings(max_examples=200, deadline=None)
def test_no_two_live_tensors_overlap(lifetimes: list[Lifetime], limit: int | None) -> None:
    plan = plan_memory(lifetimes, limit)
    placed = list(zip(lifetimes, plan.offsets, strict=True))
    for number, (a, at) in enumerate(placed):
        assert at % 64 == 0
        assert at >= 0 and at + a.size <= plan.total
        for b, bt in placed[:number]:
            alive_together = a.first <= b.last and b.first <= a.last
            assert not alive_together or at + a.size <= bt or bt + b.size <= at


@given(LIFETIMES)
@settings(max_examples=100, deadline=None)
def test_a_plan_takes_no_more_than_one_place_for_each(lifetimes: list[Lifetime]) -> None:
    assert plan_memory(lifetimes).total <= sum(-(-max(t.size, 1) // 64) * 64 for t in lifetimes)


def test_a_chain_needs_two_places() -> None:
    chain = [Lifetime(640, step, step + 1) for step in range(50)]
    assert plan_memory(chain).total == 2 * 640


def test_the_smallest_gap_that_fits_is_taken() -> None:
    plan = plan_memory(
        [
            Lifetime(640, 0, 0),
            Lifetime(256, 0, 9),
            Lifetime(128, 0, 0),
            Lifetime(64, 0, 9),
            Lifetime(100, 1, 9),
        ]
    )
    assert plan.offsets[4] == plan.offsets[2]


@given(LIFETIMES)
@settings(max_examples=100, deadline=None)
def test_a_plan_with_a_limit_takes_no_more_than_one_without(lifetimes: list[Lifetime]) -> None:
    whole = plan_memory(lifetimes)
    assert plan_memory(lifetimes, 0).total <= whole.total
    assert plan_memory(lifetimes, whole.total) == whole


def test_large_tensors_first_leave_fewer_gaps() -> None:
    # In their order, the last one finds no gap of its size between two that stay.
    lifetimes = [
        Lifetime(128, 0, 0),
        Lifetime(64, 0, 3),
        Lifetime(64, 1, 3),
        Lifetime(64, 1, 1),
        Lifetime(128, 2, 3),
    ]
    assert plan_memory(lifetimes).total == 320
    assert plan_memory(lifetimes, 256).total == 256


def test_nothing_needs_nothing() -> None:
    assert plan_memory([]).total == 0


@given(LIFETIMES)
@settings(max_examples=100, deadline=None)
def test_a_block_has_one_live_tensor_at_a_time(lifetimes: list[Lifetime]) -> None:
    placed = list(zip(lifetimes, plan_blocks(lifetimes), strict=True))
    for number, (a, block) in enumerate(placed):
        for b, other in placed[:number]:
            alive_together = a.first <= b.last and b.first <= a.last
            assert not alive_together or block != other


def test_tensors_share_the_smallest_block_that_holds_them() -> None:
    large, small = Lifetime(100, 0, 1), Lifetime(10, 0, 1)
    assert plan_blocks([large, small, Lifetime(8, 2, 3), Lifetime(90, 2, 3)]) == (0, 1, 1, 0)
    # none holds it: the largest grows
    assert plan_blocks([large, small, Lifetime(200, 2, 3)]) == (0, 1, 0)
