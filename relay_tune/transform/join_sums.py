"""Write terms of a sum as one term where that saves passes over memory.

before: add(add(nn.matmul(%a, %b, transpose_a=True), nn.matmul(%c, %d, transpose_a=True)), %rest)
after:  add(nn.matmul(concatenate((%a, %c)), concatenate((%b, %d)), transpose_a=True), %rest)

Terms are joined that nothing else reads. Additions change their order, and a zero its sign. Which
terms are one together is in `relay_tune.op_rules.sums`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial, reduce
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.sums.rule import TermRule, is_sum
from relay_tune.op_rules.sums.table import ROUNDS
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.module_pass import map_scopes, replace_nodes, same_scope


@dataclass(frozen=True)
class JoinSums:
    """Joins terms of sums: products, and parts that do not overlap.

    Fields:
        accuracy: the level exact keeps the order of additions.
    """

    name: ClassVar[str] = "join_sums"
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with fewer terms."""
        if self.accuracy is Accuracy.EXACT:
            return module
        for rules in ROUNDS:
            module = map_scopes(module, partial(_with_joined_sums, rules))
        return module


def _with_joined_sums(rules: OperatorTable[TermRule], body: Expr) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    uses = Counter([body])
    for node in nodes:
        uses.update(children(node) if same_scope(node) else ())
    concatenations = Concatenations(nodes)
    replacements: dict[Expr, Expr] = {}
    for total in _whole_sums(nodes, uses):
        terms = _terms(total, uses)
        with made_for(total.span):
            joined = _joined_terms(terms, uses, rules, concatenations)
            if len(joined) < len(terms):
                added = reduce(lambda left, right: call("add", left, right), joined)
                replacements[total] = added
    return replace_nodes(body, replacements)


def _whole_sums(nodes: Sequence[Expr], uses: Counter[Expr]) -> list[Expr]:
    """The sums that are no terms of others alone."""
    sums = [node for node in nodes if is_sum(node)]
    inner = {part for node in sums for part in children(node) if _is_inner(part, uses)}
    return [node for node in sums if node not in inner]


def _is_inner(term: Expr, uses: Counter[Expr]) -> bool:
    return uses[term] == 1 and is_sum(term)


def _terms(total: Expr, uses: Counter[Expr]) -> list[Expr]:
    """What is added up, from left to right."""
    found: list[Expr] = []
    stack = [*reversed(total.arguments)] if isinstance(total, Call) else []
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and _is_inner(node, uses):
            stack.extend(reversed(node.arguments))
        else:
            found.append(node)
    return found


def _joined_terms(
    terms: Sequence[Expr],
    uses: Counter[Expr],
    rules: OperatorTable[TermRule],
    concatenations: Concatenations,
) -> list[Expr]:
    """The terms, of which groups that are one stand where their first one stood."""
    groups: dict[Hashable, list[Call]] = {}
    for term in terms:
        rule = rules.rule_of(term) if uses[term] == 1 else None
        key = rule.key(term) if rule is not None and isinstance(term, Call) else None
        if key is not None and isinstance(term, Call):
            groups.setdefault((term.callee, key), []).append(term)
    first: dict[Expr, Expr] = {}
    gone: set[Expr] = set()
    for calls in groups.values():
        rule = rules.rule_of(calls[0])
        joined = None if rule is None or len(calls) < 2 else rule.joined(calls, concatenations)
        if joined is not None:
            first[calls[0]] = joined
            gone.update(calls[1:])
    return [first.get(term, term) for term in terms if term not in gone]
