"""Frozen dataclasses that are made in less time."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from relay_tune.quick_init import quick_init


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    kind: str = "plain"


@quick_init
@dataclass(frozen=True, slots=True)
class Point(Base):
    """A point."""

    x: int
    y: int = 2


def test_it_is_the_dataclass_that_it_was() -> None:
    point = Point(1, kind="own")
    assert (point.x, point.y, point.kind) == (1, 2, "own")
    assert point == Point(x=1, y=2, kind="own") != replace(point, y=3)
    assert hash(point) == hash(Point(1, kind="own"))
    with pytest.raises(FrozenInstanceError):
        Point.__setattr__(point, "x", 5)
    with pytest.raises(TypeError):
        replace(point, z=1)


def test_what_it_would_leave_out_is_refused() -> None:
    with pytest.raises(TypeError, match="Listed needs the __init__"):

        @quick_init
        @dataclass(frozen=True, slots=True)
        class Listed:
            all: list[int] = field(default_factory=list)
