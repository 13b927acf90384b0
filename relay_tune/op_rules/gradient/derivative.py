"""Values that a program declares constant for its derivatives."""

from __future__ import annotations

from relay_tune.op_rules.gradient.rule import GradientRule, GradientRules

RULES: GradientRules = {
    "stop_gradient": GradientRule(constant="the program says that it is to be taken for constant"),
}
