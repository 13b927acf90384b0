"""What derivatives take for constant because the program says so."""

from __future__ import annotations

from relay_tune.op_rules.gradient.rule import GradientRule, GradientRules

RULES: GradientRules = {
    "stop_gradient": GradientRule(constant="the program says that it is to be taken for constant"),
}
