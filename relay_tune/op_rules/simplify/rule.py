"""The type of a rewrite rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr

Rule: TypeAlias = Callable[[Call], Expr | None]
"""rule(typed call) -> a typed expression of the same type and meaning, or None if it does not
apply. A rule must make progress: applying rules over and over has to end."""

Rules: TypeAlias = tuple[Rule, ...]
"""The rules of an operator, tried in order."""

RuleTable: TypeAlias = Mapping[str, Rules]
