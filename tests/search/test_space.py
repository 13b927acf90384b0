import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search import Choice, Condition, EmptySpaceError, SearchError, Space

TILES = Space(
    (Choice("rows", (1, 2, 4, 8)), Choice("order", ("ij", "ji")), Choice("pad", ((0, 0), (1, 1)))),
    valid=lambda genome: genome[0] + genome[1] < 4,
)


def test_size_counts_the_whole_grid() -> None:
    assert TILES.size == 16


def test_enumerate_gives_valid_genomes_in_order() -> None:
    genomes = TILES.enumerate(100)
    assert len(genomes) == 14
    assert genomes == sorted(genomes)
    assert TILES.enumerate(3) == genomes[:3]


def test_decode_names_the_values() -> None:
    assert TILES.decode((2, 1, 1)) == {"rows": 4, "order": "ji", "pad": (1, 1)}


@given(st.integers(0, 13))
@settings(max_examples=14, deadline=None)
def test_encode_inverts_decode(position: int) -> None:
    genome = TILES.enumerate(14)[position]
    assert TILES.encode(TILES.decode(genome)) == genome


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": 3, "order": "ij", "pad": (0, 0)}, "'rows' has no value 3"),
        ({"rows": 8, "order": "ji", "pad": (0, 0)}, "violate the constraint"),
        ({"rows": 8, "order": "ji"}, "differ in: pad"),
        ({"rows": 8, "order": "ij", "pad": (0, 0), "depth": 1}, "differ in: depth"),
    ],
)
def test_encode_refuses_what_is_not_in_the_space(values: dict[str, object], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        TILES.encode(values)


@pytest.mark.parametrize("genome", [(0, 0), (0, 0, 0, 0), (4, 0, 0), (-1, 0, 0)])
def test_genomes_outside_the_grid_are_refused(genome: tuple[int, ...]) -> None:
    assert genome not in TILES
    with pytest.raises(SearchError, match="outside the grid"):
        TILES.decode(genome)


def test_random_reaches_every_valid_genome() -> None:
    rng = random.Random(0)
    assert {TILES.random(rng) for _ in range(500)} == set(TILES.enumerate(100))


def test_random_finds_a_single_valid_genome() -> None:
    wide = tuple(Choice(name, tuple(range(20))) for name in "abc")
    only = (19, 3, 7)
    assert Space(wide, valid=lambda genome: genome == only).random(random.Random(0)) == only


def test_random_in_an_empty_space_says_so() -> None:
    space = Space(TILES.choices, valid=lambda _: False)
    with pytest.raises(EmptySpaceError, match="16 of 16 points"):
        space.random(random.Random(0))


def test_random_gives_up_on_a_huge_space_without_valid_genomes() -> None:
    huge = tuple(Choice(f"c{i}", tuple(range(100))) for i in range(8))
    with pytest.raises(EmptySpaceError, match="no valid genome among"):
        Space(huge, valid=lambda _: False).random(random.Random(0))


def test_neighbours_are_one_valid_step_away() -> None:
    assert set(TILES.neighbours((2, 1, 0))) == {(1, 1, 0), (2, 0, 0), (2, 1, 1)}


def test_a_space_without_choices_has_one_genome() -> None:
    space = Space(())
    assert space.size == 1
    assert space.random(random.Random(0)) == ()
    assert space.enumerate(5) == [()]


def test_choices_must_make_sense() -> None:
    with pytest.raises(SearchError, match="no values"):
        Choice("rows", ())
    with pytest.raises(SearchError, match="value twice"):
        Choice("rows", (1, 2, 1))
    with pytest.raises(SearchError, match="repeated: rows"):
        Space((Choice("rows", (1,)), Choice("rows", (2,))))


SHAPES = Space(
    (
        Choice("shape", ("circle", "box")),
        Choice("radius", (1, 2, 3), Condition("shape", "circle"), idle=1),
        Choice("width", (1, 2), Condition("shape", "box")),
        Choice("height", (1, 2), Condition("shape", "box")),
    )
)


def test_choices_that_do_not_count_rest() -> None:
    assert SHAPES.active((0, 0, 0, 0)) == [0, 1]
    assert SHAPES.active((1, 0, 0, 0)) == [0, 2, 3]
    assert SHAPES.normal((0, 2, 1, 1)) == (0, 2, 0, 0)
    assert SHAPES.normal((1, 2, 1, 1)) == (1, 1, 1, 1)
    assert len(SHAPES.enumerate(100)) == 3 + 2 * 2


def test_only_normal_genomes_are_drawn_and_accepted() -> None:
    rng = random.Random(0)
    assert {SHAPES.random(rng) for _ in range(300)} == set(SHAPES.enumerate(100))
    assert (0, 2, 1, 0) not in SHAPES
    with pytest.raises(SearchError, match="is not normal"):
        SHAPES.decode((0, 2, 1, 0))


def test_a_neighbour_under_another_condition_is_normal() -> None:
    assert (1, 1, 0, 0) in set(SHAPES.neighbours((0, 2, 0, 0)))


def test_a_choice_must_depend_on_one_that_always_counts() -> None:
    with pytest.raises(SearchError, match="depends on"):
        Space((*SHAPES.choices, Choice("depth", (1,), Condition("width", 1))))
    with pytest.raises(SearchError, match="has no value 'ring'"):
        Space((*SHAPES.choices, Choice("hole", (1,), Condition("shape", "ring"))))
