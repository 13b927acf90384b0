"""Pipelines as text: names of passes between commas, each with options in braces.

    simplify_inference,fold_constants{keep=[zeros,ones]},fuse{maximum_group_size=8}
    default{layout=NCHW,explicit_padding=false}

`default` stands for the passes of `default_pipeline`, with what can be chosen about it. Options
that are not given are those of what is built: its machine, its accuracy, whether slices are views.
"""

from __future__ import annotations

import re
from dataclasses import is_dataclass, replace
from typing import NoReturn

from relay_tune.arguments import instance_of
from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.catalogue import pass_class
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.module_pass import ModulePass
from relay_tune.transform.option_values import OptionText, read_options
from relay_tune.transform.pipeline import (
    Pipeline,
    PipelineOptions,
    configured,
    default_pipeline,
)

DEFAULT = "default"
EXAMPLE = "Write passes like simplify_inference,fold_constants,fuse{maximum_group_size=8}."

_TOKEN = re.compile(r"[{}\[\],=]|[^\s{}\[\],=]+")


@dataclass(frozen=True, slots=True)
class _Item:
    """A pass as it was written."""

    name: str
    options: dict[str, OptionText]


def parse_pipeline(text: str, options: PipelineOptions | None = None) -> Pipeline:
    """The pipeline of a text, for `options` where the text does not say otherwise.

    Raises InputError where the text does not read so, and for passes and options that there are
    not.
    """
    instance_of(str, text, "The pipeline", EXAMPLE)
    chosen = PipelineOptions() if options is None else options
    items = _Reader(text).items()
    return Pipeline(tuple(step for item in items for step in _passes(item, chosen)))


def pipeline_after(
    text: str, options: PipelineOptions | None = None, whole: Pipeline | None = None
) -> Pipeline:
    """A pipeline up to the last run of a pass, by default the default one.

    Options of the pass, as in `fuse{maximum_group_size=8}`, hold wherever it runs. What is no pass
    of the pipeline runs alone, after type inference; `default` is all passes of the default one.
    Raises InputError if there is no such pass.
    """
    chosen = PipelineOptions() if options is None else options
    item, *others = _Reader(text).items()
    if others:
        raise InputError(
            f"{text!r} names several passes, but is to name the one after which to stop.",
            remedy="Give a whole pipeline as --passes.",
        )
    pipeline = default_pipeline(chosen) if whole is None else whole
    if item.name == DEFAULT:
        return replace(pipeline, passes=_passes(item, chosen))
    if item.name not in [step.name for step in pipeline.passes]:
        (step,) = _passes(item, chosen)
        return Pipeline((InferTypes(), step), pipeline.instruments)
    passes = (_changed(step, item) if step.name == item.name else step for step in pipeline.passes)
    return replace(pipeline, passes=tuple(passes)).until(item.name)


def _passes(item: _Item, options: PipelineOptions) -> tuple[ModulePass, ...]:
    """The passes that an item of a text stands for."""
    if item.name == DEFAULT:
        given = read_options("the default pipeline", PipelineOptions, item.options)
        return default_pipeline(replace(options, **given)).passes
    kind = pass_class(item.name, (DEFAULT,))
    return (configured(kind, options, read_options(_title(item), kind, item.options)),)


def _changed(step: ModulePass, item: _Item) -> ModulePass:
    """A pass with the options of an item."""
    if not is_dataclass(step):
        return step
    return replace(step, **read_options(_title(item), type(step), item.options))


def _title(item: _Item) -> str:
    return f"the pass {item.name}"


class _Reader:
    """Reads the items of a text, token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(found[0], found.start()) for found in _TOKEN.finditer(text)]
        self._next = 0

    def items(self) -> list[_Item]:
        """All items; InputError where the text does not read as a pipeline."""
        found = [self._item()]
        while self._accept(","):
            found.append(self._item())
        if self._next < len(self._tokens):
            self._fail("a comma or the end")
        return found

    def _item(self) -> _Item:
        name = self._word("the name of a pass")
        options: dict[str, OptionText] = {}
        if not self._accept("{") or self._accept("}"):
            return _Item(name, options)
        while True:
            option = self._word("the name of an option")
            if option in options:
                raise InputError(
                    f"The option {option} of {name} is given twice.", remedy="Give it once."
                )
            self._require("=")
            options[option] = self._value()
            if not self._accept(","):
                self._require("}")
                return _Item(name, options)

    def _value(self) -> OptionText:
        if not self._accept("["):
            return self._word("a value")
        if self._accept("]"):
            return ()
        words = [self._word("a word")]
        while self._accept(","):
            words.append(self._word("a word"))
        self._require("]")
        return tuple(words)

    def _word(self, what: str) -> str:
        token = self._peek()
        if token is None or token in "{}[],=":
            self._fail(what)
        self._next += 1
        return token

    def _require(self, token: str) -> None:
        if not self._accept(token):
            self._fail(repr(token))

    def _accept(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._next += 1
        return True

    def _peek(self) -> str | None:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else None

    def _fail(self, needed: str) -> NoReturn:
        token = self._peek()
        found = "it ends" if token is None else f"there is {token!r}"
        column = len(self._text) if token is None else self._tokens[self._next][1]
        raise InputError(
            f"The pipeline {self._text!r} cannot be read at column {column + 1}: {found}, "
            f"but {needed} is needed.",
            remedy=EXAMPLE,
        )
