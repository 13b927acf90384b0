"""Values that a program declares constant for its derivatives, or that it computes twice."""

from __future__ import annotations

from relay_tune.op_rules.gradient.rule import GradientRule, GradientRules

RULES: GradientRules = {
    "decisive": GradientRule(lambda known: (known.adjoint,)),
    "again": GradientRule(lambda known: (known.adjoint, None)),
    "stop_gradient": GradientRule(constant="the program says that it is to be taken for constant"),
}
