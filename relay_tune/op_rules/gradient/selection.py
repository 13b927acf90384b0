"""Adjoints of choices between elements: where, clip, trilu, sequence_mask."""

from __future__ import annotations

from relay_tune.op_rules.gradient.expressions import number, summed_to, zero_where
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.typed import call, recall


def _where(known: Differentiated) -> tuple[Adjoint, ...]:
    condition, first, second = known.call.arguments
    chosen = call("where", condition, known.tensor, number(0.0, known.tensor))
    other = zero_where(condition, known.tensor)
    return None, summed_to(chosen, first), summed_to(other, second)


def _clip(known: Differentiated) -> tuple[Adjoint]:
    """The adjoint where the element is inside, its limits included."""
    (data,) = known.call.arguments
    limits = attributes_of(known.call)
    below = call("less", data, number(limits.a_min, data))
    above = call("greater", data, number(limits.a_max, data))
    return (zero_where(call("logical_or", below, above), known.tensor),)


def _trilu(known: Differentiated) -> tuple[Adjoint, None]:
    return recall(known.call, (known.tensor, known.call.arguments[1])), None


def _sequence_mask(known: Differentiated) -> tuple[Adjoint, None]:
    arguments = (known.tensor, known.call.arguments[1])
    return recall(known.call, arguments, mask_value=0.0), None


RULES: GradientRules = {
    "where": GradientRule(_where),
    "clip": GradientRule(_clip),
    "trilu": GradientRule(_trilu),
    "sequence_mask": GradientRule(_sequence_mask),
}
