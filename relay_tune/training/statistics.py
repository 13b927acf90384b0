"""Moving statistics: what batch normalisation keeps of its batches for inference.

    nn.batch_norm(%x, %gamma, %beta, %mean, %variance, training=True, momentum=0.9)

In a training step the two are inputs that the step passes on: 0.9 of what they were, and 0.1 of the
mean and of the variance of the batch, the latter with n - 1 in place of n (S. Ioffe and C. Szegedy,
"Batch Normalization", 2015, algorithm 2). No gradient passes through them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import prod

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr, Function, If, Match, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rewrite_with_original
from relay_tune.op_rules.matching import attributes_of, tensor_type
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import with_body


@dataclass(frozen=True)
class MovingRule:
    """An operator that normalises by moving statistics, or in training by those of its data.

    Attributes:
        mean, variance: the argument indices of the moving statistics.
        results: the result indices of the data's statistics.
        training: the attribute that chooses.
        momentum: the attribute that says how much of the moving statistics is kept.
    """

    mean: int
    variance: int
    results: tuple[int, int]
    training: str = "training"
    momentum: str = "momentum"


MOVING: OperatorTable[MovingRule] = OperatorTable({"nn.batch_norm": MovingRule(3, 4, (1, 2))})
"""The operators that have moving statistics."""


@dataclass(frozen=True)
class Statistic:
    """A moving statistic of a step.

    Attributes:
        name: that of its input.
        value: that of the batch, an expression in the body of the network.
        momentum: how much of the old value is kept.
    """

    name: str
    value: Expr
    momentum: float

    def following(self, old: Expr, value: Expr) -> Expr:
        """The statistic after a batch of this value."""
        type_ = tensor_type(old)
        assert type_ is not None
        kept, new = (
            constant_of(np.asarray(each, dtype=type_.dtype))
            for each in (self.momentum, 1 - self.momentum)
        )
        return call("add", call("multiply", old, kept), call("multiply", value, new))


def moving_constants(*bodies: Expr) -> list[Constant]:
    """All constants that are moving statistics, in the order of the program."""
    found = [
        each
        for node in post_order(*bodies)
        if isinstance(node, Call) and (rule := MOVING.rule_of(node)) is not None
        for each in _moving(node, rule)
    ]
    return [each for each in dict.fromkeys(found) if isinstance(each, Constant)]


def moved_constants(body: Expr) -> list[Constant]:
    """Those of normalisations by the batch that every run makes."""
    found = [
        each
        for node, rule in _normalisations(body)
        if getattr(attributes_of(node), rule.training)
        for each in _moving(node, rule)
    ]
    return [each for each in dict.fromkeys(found) if isinstance(each, Constant)]


def require_own_statistics(body: Expr) -> None:
    """InputError where a moving statistic is also something else, which it would change.

    Exporters store the equal weights of a network that is not trained yet once.
    """
    users: dict[Expr, set[tuple[Expr, ...]]] = {each: set() for each in moved_constants(body)}
    for node in post_order(body):
        shared = [child for child in children(node) if child in users]
        for each in shared:
            vectors = node.arguments[1:] if isinstance(node, Call) else ()
            users[each].add((*vectors, *(() if MOVING.rule_of(node) else (node,))))
            if len(users[each]) > 1 or shared.count(each) > 1:
                raise InputError(
                    "A moving statistic of a normalisation is also another weight of the network: "
                    "files have the equal weights of an untrained network once.",
                    remedy="Export it for training (torch: "
                    "training=torch.onnx.TrainingMode.TRAINING), or give weights that differ.",
                )


def by_batch(module: Module) -> Module:
    """The module that normalises by the statistics of the batch; InputError if nothing does."""
    nodes = {node for node, _ in _normalisations(module.main.body)}
    if not nodes:
        raise InputError(
            "The network has no batch normalisation that could use the statistics of a batch.",
            remedy="Omit batch_statistics; or export the network so that its normalisations are "
            "not folded into convolutions.",
        )
    return _with_mode(module, nodes, True)


def for_inference(module: Module, names: Collection[str]) -> Module:
    """The module that normalises by moving statistics: constants, or inputs of these names."""
    nodes = {
        node
        for node, rule in _normalisations(module.main.body)
        if all(
            isinstance(each, Constant) or (isinstance(each, Var) and each.name in names)
            for each in _moving(node, rule)
        )
    }
    return _with_mode(module, nodes, False)


def moving_statistics(body: Expr, names: Collection[str]) -> list[Statistic]:
    """The moving statistics, inputs of these names, of normalisations by the batch."""
    return [
        statistic
        for node, rule in _normalisations(body)
        if getattr(attributes_of(node), rule.training)
        for statistic in _statistics(node, rule)
        if statistic.name in names
    ]


def _statistics(node: Call, rule: MovingRule) -> Iterator[Statistic]:
    mean, variance = (TupleGetItem(node, index) for index in rule.results)
    typed = [_typed(node, each) for each in (mean, variance)]
    values = (typed[0], call("multiply", typed[1], _correction(node, typed[1])))
    for old, value in zip(_moving(node, rule), values, strict=True):
        if isinstance(old, Var):
            momentum = getattr(attributes_of(node), rule.momentum)
            yield Statistic(old.name, call("stop_gradient", value), momentum)


def _typed(node: Call, item: TupleGetItem) -> Expr:
    fields = getattr(node.type, "fields", ())
    return replace(item, type=fields[item.index])


def _correction(node: Call, variance: Expr) -> Expr:
    """n / (n - 1), where each variance is that of n numbers; 1 of a single one."""
    data, vector = tensor_type(node.arguments[0]), tensor_type(variance)
    assert data is not None and vector is not None
    sizes = [size for size in data.shape if isinstance(size, int)]
    if len(sizes) == len(data.shape):
        count = prod(sizes) // prod(size for size in vector.shape if isinstance(size, int))
        return constant_of(np.asarray(count / max(count - 1, 1), dtype=vector.dtype))
    total, channels = (
        call("cast", call("ndarray_size", each, dtype="int64"), dtype=vector.dtype)
        for each in (node.arguments[0], variance)
    )
    number = call("divide", total, channels)
    one = constant_of(np.asarray(1, dtype=vector.dtype))
    return call("divide", number, call("maximum", call("subtract", number, one), one))


def _normalisations(body: Expr) -> Iterator[tuple[Call, MovingRule]]:
    """The calls that every run makes, in the order of the program."""
    for node in post_order(body, enter=_runs_always):
        rule = MOVING.rule_of(node)
        if rule is not None and isinstance(node, Call):
            yield node, rule


def _runs_always(node: Expr) -> bool:
    """Whether what stands in a node is computed in every run."""
    return not isinstance(node, Function | If | Match)


def _moving(node: Call, rule: MovingRule) -> tuple[Expr, Expr]:
    return node.arguments[rule.mean], node.arguments[rule.variance]


def _with_mode(module: Module, nodes: Collection[Expr], training: bool) -> Module:
    def visit(original: Expr, node: Expr) -> Expr:
        rule = MOVING.rule_of(node)
        if original not in nodes or rule is None or not isinstance(node, Call):
            return node
        changed = replace(attributes_of(node), **{rule.training: training})
        return replace(node, attributes=changed)

    body = rewrite_with_original(module.main.body, visit)
    return module.with_function("main", with_body(module.main, body))
