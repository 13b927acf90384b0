"""Dataclasses whose methods are written when they are first used, beside the standard ones."""

import copy
import dataclasses
import inspect
import itertools
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from relay_tune.quick_dataclass import dataclass, quick_dataclass

FLAGS = ("init", "repr", "eq", "order", "frozen", "slots", "kw_only")
COMBINATIONS = [
    flags
    for values in itertools.product([True, False], repeat=len(FLAGS))
    if (flags := dict(zip(FLAGS, values, strict=True)))["eq"] or not flags["order"]
]


def by_both(make: Callable[[Any], object]) -> tuple[object, object]:
    """What is made by our decorator and by the standard one, or the errors and their texts."""
    return outcome(lambda: make(quick_dataclass)), outcome(lambda: make(dataclasses.dataclass))


def outcome(act: Callable[[], object]) -> object:
    try:
        return act()
    except Exception as error:  # noqa: BLE001  (whatever it is, the other raises it, too)
        return type(error).__name__, str(error)


def point(decorate: Any, **flags: bool) -> Any:
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"
        x: int
        y: list[int] = field(default_factory=list, compare=False)
        z: int = 5
        by_name: int = field(default=6, kw_only=True, repr=False)
        made: list[int] = field(default_factory=list, init=False)
        fixed: int = field(default=7, init=False, hash=False)

        def own(self) -> int:
            return self.x

    return decorate(**flags)(Point)


@pytest.mark.parametrize("flags", COMBINATIONS, ids=lambda f: "-".join(n for n in f if f[n]))
def test_values_behave_as_those_of_the_standard_decorator(flags: dict[str, bool]) -> None:
    def observed(decorate: Any) -> list[object]:
        cls = point(decorate, **flags)
        arguments: dict[str, Any] = {"x": 1, "y": [2]} if flags["init"] else {}
        one, two = cls(**arguments), cls(**arguments)
        acts: list[Callable[[], object]] = [
            lambda: cls(1, [2], 3),
            lambda: cls(1, by_name=2, y=[3]).by_name,
            lambda: cls(),
            lambda: cls(1, w=2),
            lambda: cls(1, made=[]),
            lambda: [one.x, one.y, one.z, one.by_name, one.made, one.fixed, one.own(), one.kind],
            lambda: one.made is two.made,
            lambda: repr(one),
            lambda: (one == two, one != two, one == cls(3) if flags["init"] else None, one == 1),
            lambda: one < two,
            lambda: (one <= two, one > two, one >= cls(0)),
            lambda: hash(one) == hash(two),
            lambda: hash(one) if flags["eq"] else None,
            lambda: setattr(one, "x", 2),
            # Of frozen classes with slots, the standard one of Python 3.11 names the wrong class.
            lambda: flags["frozen"] and flags["slots"] or setattr(one, "new", 2),
            lambda: delattr(two, "z"),
            lambda: hasattr(one, "__dict__"),
            lambda: getattr(cls, "__slots__", None),
            lambda: cls.__match_args__,
            lambda: str(inspect.signature(cls)) if flags["init"] else None,
            lambda: [(f.name, f.type, f.default, f.kw_only, f.init) for f in fields(cls)],
            lambda: [f.name for f in fields(one)],
            lambda: dataclasses.asdict(cls(4, [1])),
            lambda: replace(cls(4), x=5).x,
            lambda: replace(cls(4), w=5),
            lambda: copy.deepcopy(cls(4, [2])).y,
            lambda: [is_dataclass(cls), is_dataclass(cls(4))],
            lambda: [cls.__init__.__qualname__, cls.__init__.__module__, cls.__qualname__],
            lambda: cls.__doc__,
        ]
        return [outcome(lambda act=act: str(act())) for act in acts]  # type: ignore[misc]

    assert texts(observed(quick_dataclass)) == texts(observed(dataclasses.dataclass))


def texts(found: list[object]) -> list[str]:
    return [re.sub("0x[0-9a-f]+", "", str(each)) for each in found]


@dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    x: int
    y: tuple[int, ...] = ()


@dataclass
class Open:
    x: int


def test_values_are_copied_and_pickled() -> None:
    for value in (Kept(1, (2, 3)), Open(4)):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) == value
        assert copy.copy(value) == copy.deepcopy(value) == value
        assert copy.copy(value) is not value


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("base_slots", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("mixed", [True, False])
def test_classes_inherit(slots: bool, base_slots: bool, frozen: bool, mixed: bool) -> None:
    """Also standard ones from ours."""

    def observed(decorate: Any) -> object:
        @decorate(frozen=frozen, slots=base_slots, kw_only=True)
        class Base:
            a: int
            b: int = 2

            def __post_init__(self) -> None:
                object.__setattr__(self, "b", self.b + 1)

        @(dataclasses.dataclass if mixed else decorate)(frozen=frozen, slots=slots)
        class Derived(Base):
            c: int
            b: int = 5

        class Plain(Derived):
            """Not decorated."""

        value, plain = Derived(1, 3, a=4), Plain(1, 3, a=4)
        plain.free = 1  # type: ignore[attr-defined]
        return [
            repr(value),
            repr(plain),
            value == plain,
            plain == Plain(1, 3, a=4),
            repr(replace(value, a=7)),
            [f.name for f in fields(Derived)],
            Derived.__match_args__,
            getattr(Derived, "__slots__", None),
            outcome(lambda: setattr(value, "a", 1)),
            outcome(lambda: setattr(plain, "c", 1)),
            outcome(lambda: delattr(plain, "free")),
            outcome(lambda: hash(value)) == outcome(lambda: hash(Derived(1, 3, a=4))),
            isinstance(value, Base),
        ]

    ours, standard = by_both(observed)
    assert ours == standard


def test_a_class_keeps_what_it_says_itself() -> None:
    def observed(decorate: Any) -> object:
        @decorate(frozen=True, slots=True)
        class Own:
            x: int

            def __init__(self, twice: int) -> None:
                object.__setattr__(self, "x", 2 * twice)

            def __repr__(self) -> str:
                return "own"

            def __eq__(self, other: object) -> bool:
                return False

            def __hash__(self) -> int:
                return 3

            def __getstate__(self) -> list[int]:
                return [self.x]

        @decorate(frozen=True)
        class Compared:
            x: int

            def __eq__(self, other: object) -> bool:
                return True

        @decorate(eq=False)
        class Same:
            x: int

        one, two = Same(1), Same(1)
        same_ones = [Own(1) == Own(1), Compared(1) == Compared(2), one == two]
        hashes = [hash(Own(1)), hash(Compared(1)), hash(one) == hash(two)]
        return [Own(2).x, repr(Own(1)), Own(5).__getstate__(), same_ones, hashes]

    ours, standard = by_both(observed)
    assert ours == standard


def test_fields_may_have_any_name() -> None:
    def observed(decorate: Any) -> object:
        @decorate(frozen=True, slots=True)
        class Named:
            self: int
            cls: int = 1
            other: int = 2
            name: list[int] = field(default_factory=list)

        return [repr(Named(0)), Named(0) == Named(0, 1, 2, []), repr(Named(0, name=[1]))]

    ours, standard = by_both(observed)
    assert ours == standard


def test_a_value_that_holds_itself_is_printed() -> None:
    def observed(decorate: Any) -> object:
        @decorate
        class Node:
            next: Any = None

        node = Node()
        node.next = node
        return repr(node)

    ours, standard = by_both(observed)
    assert ours == standard


def no_default(decorate: Any) -> object:
    @decorate
    class Wrong:
        x: int = 1
        y: int

    return Wrong


def mutable(decorate: Any) -> object:
    @decorate
    class Wrong:
        x: list[int] = []  # noqa: RUF012

    return Wrong


def no_annotation(decorate: Any) -> object:
    @decorate
    class Wrong:
        x = field(default=1)

    return Wrong


def own_slots(decorate: Any) -> object:
    @decorate(slots=True)
    class Wrong:
        __slots__ = ("x",)
        x: int

    return Wrong


def own_setattr(decorate: Any) -> object:
    @decorate(frozen=True)
    class Wrong:
        x: int

        def __setattr__(self, name: str, value: object) -> None:
            pass

    return Wrong


def own_order(decorate: Any) -> object:
    @decorate(order=True)
    class Wrong:
        x: int

        def __lt__(self, other: object) -> bool:
            return True

    return Wrong


def order_alone(decorate: Any) -> object:
    return decorate(order=True, eq=False)(type("Wrong", (), {}))


def thawed(decorate: Any) -> object:
    @decorate(frozen=True)
    class Base:
        x: int

    return decorate(type("Wrong", (Base,), {}))


def frozen_later(decorate: Any) -> object:
    @decorate
    class Base:
        x: int

    return decorate(frozen=True)(type("Wrong", (Base,), {}))


WRONG = [no_default, mutable, no_annotation, own_slots, own_setattr, own_order, order_alone, thawed,
         frozen_later]  # fmt: skip


@pytest.mark.parametrize("make", WRONG)
def test_wrong_classes_are_refused_in_the_same_words(make: Callable[[Any], object]) -> None:
    ours, standard = by_both(make)
    assert isinstance(ours, tuple)
    if make is own_order:  # whose standard text gives advice
        assert "Cannot overwrite attribute __lt__" in str(ours)
    else:
        assert ours == standard


@pytest.mark.parametrize(
    "kind", [dataclasses.InitVar[int], "InitVar[int]", "dataclasses.KW_ONLY", dataclasses.KW_ONLY]
)
def test_what_is_left_out_is_refused(kind: object) -> None:
    with pytest.raises(TypeError, match="Wrong.x is "):
        quick_dataclass(type("Wrong", (), {"__annotations__": {"x": kind}}))


@pytest.mark.parametrize("kind", [ClassVar, ClassVar[int], "ClassVar[int]", "typing.ClassVar"])
def test_variables_of_the_class_are_no_fields(kind: object) -> None:
    made = quick_dataclass(type("Fine", (), {"__annotations__": {"x": kind, "y": int}}))
    assert [f.name for f in fields(made)] == ["y"]


def test_methods_are_written_when_they_are_first_used() -> None:
    @quick_dataclass(frozen=True, slots=True)
    class Late:
        x: int

    def written() -> set[str]:
        names = ("__init__", "__eq__", "__repr__", "__hash__")
        return {name for name in names if inspect.isfunction(vars(Late)[name])}

    assert not written()
    value = Late(1)
    assert written() == {"__init__"}
    assert value == Late(1)
    assert hash(value) == hash(Late(1))
    assert written() == {"__init__", "__eq__", "__hash__"}
    with pytest.raises(FrozenInstanceError):
        Late.__setattr__(value, "x", 5)


def test_every_module_has_its_dataclasses_from_here() -> None:
    """One that has not costs each start of the command half a millisecond a class."""
    spec = find_spec("relay_tune")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    files = [file for file in folder.rglob("*.py") if file.name != "quick_dataclass.py"]
    assert len(files) > 500
    wrong = [str(file.relative_to(folder)) for file in files if _imports_the_standard_one(file)]
    assert not wrong, "import dataclass from relay_tune.quick_dataclass"


def _imports_the_standard_one(file: Path) -> bool:
    names = r"import dataclasses|from dataclasses import .*\b(make_)?dataclass\b"
    return re.search(rf"^\s*({names})", file.read_text(encoding="utf-8"), re.MULTILINE) is not None
