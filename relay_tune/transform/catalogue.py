"""The passes that can be named: our own, and those of installed packages.

A package has a pass, a dataclass whose fields are its options, as an entry point of the group
`relay_tune.passes`, called as the pass is:

    [project.entry-points."relay_tune.passes"]
    "mine.double" = "mine.double:Double"

It is loaded when a pipeline names it. A name that we have ourselves stays ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import cast

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.extensions import EntryPoint, entries, entry_named, entry_value, unusable_entry
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.basic_block_normal_form import ToBasicBlockNormalForm
from relay_tune.transform.language.defunctionalize import Defunctionalize
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.language.inline import Inline
from relay_tune.transform.language.inline_local import InlineLocal
from relay_tune.transform.language.lambda_lift import LambdaLift
from relay_tune.transform.language.partial_evaluate import PartialEvaluate
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.language.to_cps import ToCps
from relay_tune.transform.language.un_cps import UnCps
from relay_tune.transform.module_pass import PassClass
from relay_tune.transform.pipeline import STANDARD_PASSES
from relay_tune.transform.quantize.annotate import Annotate
from relay_tune.transform.quantize.calibrate import Calibrate
from relay_tune.transform.quantize.realize import Realize
from relay_tune.transform.store_weights import StoreWeights

GROUP = "relay_tune.passes"

LANGUAGE_PASSES: tuple[PassClass, ...] = (
    Specialize,
    ToANormalForm,
    ToBasicBlockNormalForm,
    ToGraphNormalForm,
    EtaExpand,
    Inline,
    InlineLocal,
    LambdaLift,
    ToCps,
    UnCps,
    PartialEvaluate,
    Defunctionalize,
)
"""The passes of the language, which no build runs on its own account."""

CHOSEN_PASSES: tuple[PassClass, ...] = (StoreWeights, Annotate, Calibrate, Realize)
"""Passes that change results, which only those run who ask for them."""

STANDARD = {kind.name: kind for kind in (*STANDARD_PASSES, *CHOSEN_PASSES)}
LANGUAGE = {kind.name: kind for kind in LANGUAGE_PASSES}
"""The same by name."""

_LOADED: dict[str, PassClass] = {}
"""Those of installed packages that were asked for."""


def pass_class(name: str, also: Iterable[str] = ()) -> PassClass:
    """The class of the passes called `name`; InputError if there is none.

    `also` are more names that could have been meant.
    """
    found = STANDARD.get(name) or LANGUAGE.get(name) or _foreign(name)
    if found is None:
        raise _unknown(name, also)
    return found


def _foreign(name: str) -> PassClass | None:
    """The class of an installed package."""
    if name not in _LOADED:
        entry = entry_named(GROUP, name)
        if entry is None:
            return None
        _LOADED[name] = _loaded(entry)
    return _LOADED[name]


def _unknown(name: str, also: Iterable[str]) -> InputError:
    foreign = [each.name for each in entries(GROUP)]
    notes = (
        f"The passes are: {', '.join([*STANDARD, *foreign])}.",
        f"Passes of the language are: {', '.join(LANGUAGE)}.",
    )
    known = dict.fromkeys([*also, *STANDARD, *LANGUAGE, *foreign])
    remedy = did_you_mean(name, known, "Give the name of one of these passes.")
    return InputError(f"There is no pass {name!r}.", notes=notes, remedy=remedy)


def _loaded(entry: EntryPoint) -> PassClass:
    """The class of an installed package; InputError where there is none."""
    found = entry_value(entry, "pass")
    if not is_dataclass(found) or getattr(found, "name", None) != entry.name:
        raise unusable_entry(entry, "pass", f"is no dataclass with this name, but {found!r}")
    return cast(PassClass, found)
