"""What each pass of the language promises of its result, besides the same answer."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.ir.expr import Call, Constructor, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType
from relay_tune.transform.catalogue import LANGUAGE
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.hoist_invariants import HoistInvariants
from relay_tune.transform.join_sums import JoinSums
from relay_tune.transform.language.a_normal_form import is_a_normal_form
from relay_tune.transform.language.basic_block_normal_form import is_basic_block_normal_form
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.inline import Inline
from relay_tune.transform.language.propagate_constants import PropagateConstants
from relay_tune.transform.language.to_cps import ToCps
from relay_tune.transform.language.un_cps import UnCps
from relay_tune.transform.row_sums.collect_rows import CollectRows
from relay_tune.transform.share_panels import SharePanels
from relay_tune.transform.simplify_expression import SimplifyExpression

PASSES: dict[str, Callable[[Module], Module]] = {
    **{name: kind() for name, kind in LANGUAGE.items() if name != "un_cps"},
    "eta_expand": EtaExpand(global_functions=True),
    "to_cps": lambda module: UnCps()(ToCps()(module)),
    "eliminate_dead_code": EliminateDeadCode(),
    "eliminate_common_subexpressions": EliminateCommonSubexpressions(),
    "fold_constants": FoldConstants(),
    "share_panels": SharePanels(),
    "simplify_expression": SimplifyExpression(),
    "hoist_invariants": HoistInvariants(),
    "join_sums": JoinSums(),
    "collect_rows": CollectRows(),
    "inline": Inline(maximum_size=60),
    "propagate_constants": PropagateConstants(),
}
"""Where options make a pass do more, it has them; continuation passing is there and back."""


def has_no_type_parameters(module: Module) -> None:
    """No function has type parameters, and no call names types but those of data."""
    for node in post_order(*module.functions.values()):
        assert not isinstance(node, Function) or not node.type_params
        if isinstance(node, Call) and not isinstance(node.callee, Constructor):
            assert not node.type_arguments


def has_no_function_values(module: Module) -> None:
    """Functions are called by name only."""
    for node in post_order(*(function.body for function in module.functions.values())):
        assert not isinstance(node, Function)
        assert not isinstance(node, Var) or not isinstance(node.type, FuncType)


def is_in_a_normal_form(module: Module) -> None:
    """Every operand has a name."""
    assert all(map(is_a_normal_form, module.functions.values()))


def is_in_basic_block_normal_form(module: Module) -> None:
    """No node is shared between blocks."""
    assert all(map(is_basic_block_normal_form, module.functions.values()))


CHECKS: dict[str, Callable[[Module], None]] = {
    "to_a_normal_form": is_in_a_normal_form,
    "to_basic_block_normal_form": is_in_basic_block_normal_form,
    "defunctionalize": has_no_function_values,
    "specialize": has_no_type_parameters,
}
