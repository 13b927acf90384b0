"""`dataclass` as in the standard library, whose methods are written when they are first used.

    from dataclasses import field
    from relay_tune.quick_dataclass import dataclass

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = field(default=0, kw_only=True)

The standard decorator compiles up to eight methods for each class, although a process makes values
of few of our classes and compares, prints and hashes those of fewer: two thirds of the time of an
import. Here a class has descriptors in their places, which write a method, put it in their own
place and are gone. `__init__` of frozen classes sets slots by their descriptors, in half the time.

The classes are dataclasses to everybody else: to `fields`, `replace`, `asdict`, `pickle`, to
standard dataclasses that inherit from them, and to checkers of types. Left out is what nobody here
uses: `InitVar`, `KW_ONLY`, `weakref_slot`, and texts of classes that have none (`__doc__`).
"""

from __future__ import annotations

import re
import sys
from abc import update_abstractmethods
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, make_dataclass, replace
from functools import partial
from inspect import get_annotations
from reprlib import recursive_repr
from types import MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

Class = Any
"""A class of whose attributes checkers know nothing."""

_CLASS_VARIABLE = re.compile(r"(\w+\.)?ClassVar\b")
_OF_INIT_ONLY = re.compile(r"<?(\w+\.)?_?(InitVar|KW_ONLY)")
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_COMPARISONS = {"__eq__": "==", **_ORDER}

_STORED = fields(make_dataclass("Sample", ["x"], init=False, repr=False, eq=False))[0]._field_type  # type: ignore[attr-defined]
"""What tells a field from the standard library's other kinds."""


def quick_dataclass(
    cls: Class | None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    """Make a class a dataclass; the flags are those of `dataclasses.dataclass`.

    Raises TypeError and ValueError for the classes for which the standard one does.
    """
    if order and not eq:
        raise ValueError("eq must be true if order is true")
    flags = {"init": init, "repr": repr, "eq": eq, "order": order, "unsafe_hash": False}
    flags |= {"frozen": frozen, "match_args": True, "kw_only": kw_only, "slots": slots}
    make = partial(_made, params=SimpleNamespace(**flags, weakref_slot=False))
    return make if cls is None else make(cls)


def _made(cls: Class, params: SimpleNamespace) -> Class:
    _check_bases(cls, params.frozen)
    all_fields: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        all_fields.update(getattr(base, "__dataclass_fields__", {}))
    all_fields.update(_own_fields(cls, params.kw_only))
    if params.init:
        _check_defaults(all_fields.values())
    positional = tuple(f.name for f in all_fields.values() if f.init and not f.kw_only)
    if params.slots:
        cls = _with_slots(cls, all_fields)
    cls.__dataclass_fields__ = all_fields
    cls.__dataclass_params__ = params
    _fill(cls, "__match_args__", positional)
    _fill(cls, "__replace__", _replaced)
    if params.slots and params.frozen:
        _fill(cls, "__getstate__", _values)
        _fill(cls, "__setstate__", _set_values)
    _add_methods(cls, params)
    update_abstractmethods(cls)
    return cls


# Fields


def _own_fields(cls: Class, kw_only: bool) -> Iterator[tuple[str, Field[Any]]]:
    """The fields that a class itself annotates; leaves their defaults as its attributes."""
    annotations = get_annotations(cls)
    for name, annotation in annotations.items():
        if _is(_CLASS_VARIABLE, annotation):
            continue
        if _is(_OF_INIT_ONLY, annotation):
            raise TypeError(f"{cls.__name__}.{name} is {annotation}, which is for dataclasses.")
        default: Any = getattr(cls, name, MISSING)
        if isinstance(default, MemberDescriptorType):  # of a base with slots
            default = MISSING
        own: Any = default if isinstance(default, Field) else field(default=default)
        own.name, own.type = name, annotation
        own._field_type = _STORED
        if own.kw_only is MISSING:
            own.kw_only = kw_only
        if type(own.default).__hash__ is None:
            raise ValueError(
                f"mutable default {type(own.default)} for field {name} is not allowed: "
                "use default_factory"
            )
        if isinstance(default, Field):
            if own.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, own.default)
        yield name, own
    for name, value in vars(cls).items():
        if isinstance(value, Field) and name not in annotations:
            raise TypeError(f"{name!r} is a field but has no type annotation")


def _is(kind: re.Pattern[str], annotation: Any) -> bool:
    """Annotations are texts in modules that import them from the future."""
    text = annotation if isinstance(annotation, str) else repr(annotation)
    return kind.match(text) is not None


def _check_bases(cls: Class, frozen: bool) -> None:
    bases = [base for base in cls.__mro__[1:] if hasattr(base, "__dataclass_fields__")]
    any_frozen = any(base.__dataclass_params__.frozen for base in bases)
    if bases and frozen != any_frozen:
        own, others = ("frozen", "non-frozen") if frozen else ("non-frozen", "frozen")
        raise TypeError(f"cannot inherit {own} dataclass from a {others} one")


def _check_defaults(all_fields: Iterable[Field[Any]]) -> None:
    seen = False
    for each in all_fields:
        if each.init and not each.kw_only:
            if seen and not _has_default(each):
                raise TypeError(f"non-default argument {each.name!r} follows default argument")
            seen = _has_default(each)


def _has_default(each: Field[Any]) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


# The class


def _with_slots(cls: Class, names: Iterable[str]) -> Class:
    """The same class, made again with slots for the fields that its bases have none for."""
    if "__slots__" in vars(cls):
        raise TypeError(f"{cls.__name__} already specifies __slots__")
    inherited = {slot for base in cls.__mro__[1:-1] for slot in _slots(base)}
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(cls).items() if name not in left_out}
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _slots(cls: Class) -> Iterable[str]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _add_methods(cls: Class, params: SimpleNamespace) -> None:
    if params.init:
        _fill(cls, "__init__", _Later(cls, "__init__", _init))
    if params.repr:
        _fill(cls, "__repr__", _Later(cls, "__repr__", _repr))
    if params.eq:
        explicit = vars(cls).get("__hash__") or (
            "__hash__" in vars(cls) and "__eq__" not in vars(cls)
        )
        if not explicit:
            cls.__hash__ = _Later(cls, "__hash__", _hash) if params.frozen else None
        _fill(cls, "__eq__", _Later(cls, "__eq__", _comparison))
    if params.order:
        for name in _ORDER:
            _add(cls, name, _Later(cls, name, _comparison))
    if params.frozen:
        for name, verb in (("__setattr__", "assign to"), ("__delattr__", "delete")):
            _add(cls, name, _refusal(cls, name, verb))


def _fill(cls: Class, name: str, value: object) -> None:
    """Set what the class does not say itself."""
    if name not in vars(cls):
        setattr(cls, name, value)


def _add(cls: Class, name: str, value: object) -> None:
    if name in vars(cls):
        raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
    setattr(cls, name, value)


# Methods


class _Factory:
    """The default of an argument whose value is made anew for each call, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


class _Later:
    """A method that is written when it is first looked up, and from then on stands in its place."""

    __slots__ = ("_cls", "_name", "_write")

    def __init__(self, cls: Class, name: str, write: Callable[[Class, str], Any]) -> None:
        self._cls, self._name, self._write = cls, name, write

    def __get__(self, instance: object, owner: Class) -> Any:
        method = self._write(self._cls, self._name)
        method.__qualname__ = f"{self._cls.__qualname__}.{self._name}"
        setattr(self._cls, self._name, method)
        return method.__get__(instance, owner)


def _init(cls: Class, name: str) -> Any:
    arguments = [f for f in fields(cls) if f.init]
    positional = [_argument(f) for f in arguments if not f.kw_only]
    by_name = [_argument(f) for f in arguments if f.kw_only]
    names: dict[str, object] = {"_factory": _FACTORY, "_set": object.__setattr__}
    lines = [line for f in fields(cls) if (line := _assignment(cls, f, names))]
    if hasattr(cls, "__post_init__"):
        lines.append(f"{_own_name(cls)}.__post_init__()")
    listed = [_own_name(cls), *positional, *(["*", *by_name] if by_name else [])]
    method = _compiled(cls, name, listed, lines or ["pass"], names)
    method.__annotations__ = {f.name: f.type for f in arguments} | {"return": None}
    return method


def _own_name(cls: Class) -> str:
    return "_self" if "self" in cls.__dataclass_fields__ else "self"


def _argument(each: Field[Any]) -> str:
    if each.default is not MISSING:
        return f"{each.name}=_default_{each.name}"
    return f"{each.name}=_factory" if each.default_factory is not MISSING else each.name


def _assignment(cls: Class, each: Field[Any], names: dict[str, object]) -> str:
    """The line that sets a field; nothing where it is no argument and the class has its default."""
    name, params = each.name, cls.__dataclass_params__
    value = name if each.init else f"_default_{name}"
    if each.default is not MISSING:
        names[f"_default_{name}"] = each.default
    elif each.default_factory is not MISSING:
        names[f"_make_{name}"] = each.default_factory
        made = f"_make_{name}()"
        value = f"{made} if {name} is _factory else {name}" if each.init else made
    elif not each.init:
        return ""
    if not (each.init or params.slots) and each.default is not MISSING:
        return ""
    if not params.frozen:
        return f"{_own_name(cls)}.{name} = {value}"
    slot = getattr(cls, name, None)
    if isinstance(slot, MemberDescriptorType):
        names[f"_set_{name}"] = slot.__set__
        return f"_set_{name}({_own_name(cls)}, {value})"
    return f"_set({_own_name(cls)}, {name!r}, {value})"


def _repr(cls: Class, name: str) -> Any:
    shown = [f.name for f in fields(cls) if f.repr]

    def __repr__(self: Any) -> str:
        values = ", ".join([f"{each}={getattr(self, each)!r}" for each in shown])
        return f"{self.__class__.__qualname__}({values})"

    return recursive_repr()(__repr__)


def _comparison(cls: Class, name: str) -> Any:
    compared = [f.name for f in fields(cls) if f.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple('self', compared)} {_COMPARISONS[name]} {_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compiled(cls, name, ["self", "other"], lines, {})


def _hash(cls: Class, name: str) -> Any:
    hashed = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
    return _compiled(cls, name, ["self"], [f"return hash({_tuple('self', hashed)})"], {})


def _tuple(of: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _refusal(cls: Class, name: str, verb: str) -> Any:
    """`__setattr__` or `__delattr__` of a frozen class; subclasses may set what is theirs."""

    def refuse(self: Any, attribute: str, *value: object) -> None:
        if type(self) is cls or attribute in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {verb} field {attribute!r}")
        getattr(super(cls, self), name)(attribute, *value)

    refuse.__name__, refuse.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return refuse


def _replaced(self: Any, /, **changes: object) -> Any:
    """For `copy.replace`, which Python has from 3.13 on."""
    return replace(self, **changes)


def _values(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_values(self: Any, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _compiled(
    cls: Class, name: str, arguments: list[str], lines: list[str], names: dict[str, object]
) -> Any:
    """A function of the module of a class, which also sees `names`."""
    body = "".join(f"        {line}\n" for line in lines)
    text = (
        f"def write({', '.join(names)}):\n"
        f"    def {name}({', '.join(arguments)}):\n{body}    return {name}\n"
    )
    made: dict[str, Any] = {}
    exec(text, vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}, made)
    return made["write"](**names)


# Checkers of types know the standard decorator, and what else they would have to know by its name.
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = quick_dataclass
