"""A loss over slices of a batch: the same program for a part of the samples.

before:
    def @main(%x: Tensor[(64, 784), float32], %target: Tensor[(64), int64], %w) {
      %0 = nn.log_softmax(nn.dense(%x, %w));
      nn.nll_loss(%0, %target, ..)                          a mean over 64 samples
    }

after, for 4 slices:
    def @main(%x: Tensor[(64, 784), float32], %target: Tensor[(64), int64], %w, %slice: int64) {
      %0 = take(reshape(%x, newshape=(4, 16, 784)), %slice, axis=0);
      %1 = take(reshape(%target, newshape=(4, 16)), %slice, axis=0);
      %2 = nn.log_softmax(nn.dense(%0, %w));
      nn.nll_loss(%2, %1, .., reduction="sum") / 64         a part of their sum
    }

The sum over all slices is the loss, and so are the sums of gradients. What the batch alone says, as
the number of targets that count, is computed of the whole batch before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.errors import InputError, RelayError
from relay_tune.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.names import free_name
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, post_order, rebuild, rewrite
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of, recall, reshape, tuple_of, with_types
from relay_tune.quick_dataclass import dataclass
from relay_tune.training.resized_calls import LINES, RESIZINGS, with_quotient
from relay_tune.training.sample_axes import Samples, Spread, Total, call_spread
from relay_tune.training.sample_numbers import CoupledError
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


@dataclass(frozen=True)
class SlicedLoss:
    """The loss of a slice.

    Attributes:
        module: its main takes what that of the whole loss takes, then `whole`, then the slice.
        whole: what is computed of the whole batch, by the variable that stands for it.
        parts: the number of slices.
    """

    module: Module
    whole: tuple[tuple[Var, Expr], ...]
    parts: int


def samples_of(batch: Sequence[Var]) -> int:
    """The samples of a batch: the size of the first axis of its last input, the target."""
    type_ = batch[-1].annotation or batch[-1].type
    size = type_.shape[0] if isinstance(type_, TensorType) and type_.shape else None
    if not isinstance(size, int):
        raise InputError(
            f"The batch has no fixed number of samples: {batch[-1].name} is "
            f"{'of no type' if type_ is None else type_text(type_)}.",
            remedy="Fix the size of its first axis, or omit slices.",
        )
    return size


def divisors(samples: int) -> list[int]:
    """The numbers of equal slices of a batch."""
    return [each for each in range(1, samples + 1) if samples % each == 0]


def sliced_loss(network: Module, data: Collection[str], parts: int) -> SlicedLoss:
    """The loss of a slice of the batch, one of `parts`.

    Args:
        network: typed; its main returns the loss of a batch.
        data: the names of the inputs that a batch consists of.
        parts: how many slices there are.

    Raises InputError where samples are not independent, or not divided by `parts`.
    """
    flat = infer_types(ToGraphNormalForm()(network))
    main = with_body(flat.main, rewrite(flat.main.body, with_quotient))
    batch = [param for param in main.params if param.name in data]
    samples = samples_of(batch)
    if samples % parts:
        raise InputError(
            f"The batch has {samples} samples, which are not {parts} equal slices.",
            remedy=f"Give one of: {', '.join(map(str, divisors(samples)))}.",
        )
    names = {param.name for param in main.params}
    number = _variable(free_name("slice", names), TensorType((), "int64"))
    slicing = _Slicing(batch, samples, parts, number)
    loss = slicing.share(main.body)
    whole = tuple(slicing.whole)
    params = (*main.params, *(var for var, _ in whole), number)
    module = flat.with_function("main", Function(params, loss))
    return SlicedLoss(infer_types(module), whole, parts)


class _Slicing:
    """What is known of the nodes that were looked at: their spreads, and what they are of a slice.

    Attributes:
        whole: what is computed of the whole batch.
    """

    def __init__(self, batch: Sequence[Var], samples: int, parts: int, number: Var) -> None:
        self.samples, self.parts, self.number = samples, parts, number
        self.whole: list[tuple[Var, Expr]] = []
        self._spreads: dict[Expr, tuple[Spread, ...]] = {}
        self._new: dict[Expr, Expr] = {}
        self._of_batch: set[Expr] = set()
        for var in batch:
            self._given(var)

    def share(self, body: Expr) -> Expr:
        """What a slice adds to the loss."""
        for node in post_order(body):
            if node not in self._new and not isinstance(node, Operator):
                self._visit(node)
        loss, (spread,) = self._new[body], self._spreads[body]
        assert not isinstance(spread, Samples)  # a loss is a number
        return loss if spread is Total.SUM else self._part_of_mean(loss)

    def _given(self, var: Var) -> None:
        """Take the first axis of an input that is as long as there are samples for theirs."""
        self._of_batch.add(var)
        shape = static_shape(var) or ()
        axis = shape.index(self.samples) if self.samples in shape else None
        self._spreads[var] = _independent(var)
        self._new[var] = var
        if axis is not None:
            self._spreads[var] = (Samples(axis),)
            self._new[var] = self._slice(var, Samples(axis))

    def _visit(self, node: Expr) -> None:
        """Find the spread of a node whose operands are known, and the node of a slice."""
        match node:
            case Var() | Constant():
                self._enter(node, _independent(node), node)
            case Tuple():
                each = tuple(part for field in node.fields for part in self._spreads[field])
                self._enter(node, each, tuple_of([self._new[f] for f in node.fields]))
            case TupleGetItem():
                whole = node.tuple_value
                assert isinstance(whole.type, TupleType)
                counts = [len(_tensors(field)) for field in whole.type.fields]
                first = sum(counts[: node.index])
                spreads = self._spreads[whole][first : first + counts[node.index]]
                item = with_types(TupleGetItem(self._new[whole], node.index))
                self._enter(node, spreads, item)
            case Call(callee=Operator()) if not any(map(self._depends, node.arguments)):
                new = rebuild(node, [node.callee, *(self._new[e] for e in node.arguments)])
                self._enter(node, _independent(node), new)
            case Call(callee=Operator()):
                self._call(node)
            case _:
                raise self._refused(node, "it calls functions, or branches")
        if not isinstance(node, Var) and self._of_batch.issuperset(_operands(node)):
            self._of_batch.add(node)

    def _enter(self, node: Expr, spreads: tuple[Spread, ...], new: Expr) -> None:
        self._spreads[node], self._new[node] = spreads, new

    def _depends(self, node: Expr) -> bool:
        return any(each is not None for each in self._spreads[node])

    def _call(self, node: Call) -> None:
        """That of a call some of whose arguments depend on samples."""
        if {(Total.SUM,), (Total.MEAN,)} <= {self._spreads[each] for each in node.arguments}:
            for each in node.arguments:
                self._become_sum(each)
        try:
            new, results = self._by_lines(node) or self._by_elements(node)
        except (CoupledError, RelayError) as error:
            raise self._refused(node, "it may combine samples") from error
        expected = [self._part(t, s) for t, s in zip(_tensors(node.type), results, strict=True)]
        if expected != _tensors(new.type):
            raise self._refused(node, "its sizes would be others")
        is_total = all(isinstance(each, Total) for each in results)
        if is_total and self._of_batch.issuperset(node.arguments) and len(results) == 1:
            var = _variable(f"whole_{len(self.whole)}", node.type)
            self.whole.append((var, node))
            self._enter(node, (None,), var)
        else:
            self._enter(node, results, new)

    def _by_elements(self, node: Call) -> tuple[Call, tuple[Spread, ...]]:
        """A slice's call, and its spreads, by what each element of the result is."""
        given = [part for each in node.arguments for part in self._spreads[each]]
        found = call_spread(_as_function(node), given, self.samples)
        along = iter(found.along)
        arguments = [
            self._argument(each, [next(along) for _ in _tensors(each.type)])
            for each in node.arguments
        ]
        new = self._resized(node, arguments, found.results)
        return new, found.beside(_as_function(new), self.parts)

    def _by_lines(self, node: Call) -> tuple[Call, tuple[Spread, ...]] | None:
        """The same of an operator that treats each line along an axis by itself; None of others."""
        axis, type_ = LINES.rule_of(node), tensor_type(node.arguments[0])
        spread, *others = (part for each in node.arguments for part in self._spreads[each])
        if axis is None or type_ is None or not isinstance(spread, Samples) or any(others):
            return None
        position = getattr(attributes_of(node), axis)
        if position is None or spread.axis == position % len(type_.shape):
            return None
        new = recall(node, [self._new[each] for each in node.arguments])
        return new, tuple(spread for _ in _tensors(node.type))

    def _become_sum(self, node: Expr) -> None:
        """Take a mean as a sum of what each slice adds to it."""
        if self._spreads[node] == (Total.MEAN,):
            self._enter(node, (Total.SUM,), self._part_of_mean(self._new[node]))

    def _part_of_mean(self, value: Expr) -> Expr:
        type_ = tensor_type(value)
        assert type_ is not None
        return call("multiply", value, constant_of(np.asarray(1 / self.parts, type_.dtype)))

    def _argument(self, node: Expr, along: Sequence[Samples | None]) -> Expr:
        """An argument of a slice's call; a slice of what is read along samples."""
        new = self._new[node]
        if not any(along):
            return new
        if not isinstance(node.type, TupleType):
            return self._slice(new, along[0])
        fields = [with_types(TupleGetItem(new, index)) for index in range(len(node.type.fields))]
        return tuple_of([self._slice(f, each) for f, each in zip(fields, along, strict=True)])

    def _slice(self, value: Expr, samples: Samples | None) -> Expr:
        """The part of a value whose axis counts samples that belongs to the slice."""
        shape = static_shape(value)
        if samples is None or shape is None:
            return value
        axis, size = samples.axis, shape[samples.axis]
        before, after = shape[:axis], shape[axis + 1 :]
        part = self.samples * samples.each // self.parts
        outer = size // (part * self.parts)
        if outer == 1:
            folded = reshape(value, (*before, self.parts, part, *after))
            return call("take", folded, self.number, axis=axis, mode="clip")
        folded = reshape(value, (*before, outer, self.parts, part, *after))
        taken = call("take", folded, self.number, axis=axis + 1, mode="clip")
        return reshape(taken, (*before, outer * part, *after))

    def _resized(self, node: Call, arguments: Sequence[Expr], spreads: Sequence[Spread]) -> Call:
        """The call of a slice's arguments, with attributes that say its sizes."""
        rule, type_ = RESIZINGS.rule_of(node), tensor_type(node)
        if rule is None or type_ is None:
            return recall(node, arguments)
        (data, *_) = self._spreads[node.arguments[0]]
        changes = rule(node, self._part(type_, spreads[0]), data, self.parts)
        attributes = replace(attributes_of(node), **changes)
        return recall(replace(node, attributes=attributes), arguments)

    def _part(self, type_: TensorType, spread: Spread) -> TensorType:
        """The type of a slice's value."""
        if not isinstance(spread, Samples):
            return type_
        shape = list(type_.shape)
        size = shape[spread.axis]
        assert isinstance(size, int)
        shape[spread.axis] = size // self.parts
        return TensorType(tuple(shape), type_.dtype)

    def _refused(self, node: Expr, why: str) -> InputError:
        what = "The program"
        if isinstance(node, Call) and isinstance(node.callee, Operator):
            what = node.callee.name
        return InputError(
            f"The step cannot be made of {self.parts} slices of the batch: {what} stands in the "
            f"way, {why}.",
            where=node.span,
            remedy="Omit slices, or take a smaller batch.",
        )


def _variable(name: str, type_: Type | None) -> Var:
    return Var(name, type_, type=type_)


def _tensors(type_: Type | None) -> list[TensorType]:
    """The tensors of a type, left to right."""
    return list(_flat(type_))


def _flat(type_: Type | None) -> Iterator[TensorType]:
    if isinstance(type_, TensorType):
        yield type_
    for field in type_.fields if isinstance(type_, TupleType) else ():
        yield from _flat(field)


def _independent(node: Expr) -> tuple[Spread, ...]:
    return tuple(None for _ in _tensors(node.type))


def _operands(node: Expr) -> Sequence[Expr]:
    """The expressions that a node is computed of, without an operator."""
    return [each for each in children(node) if not isinstance(each, Operator)]


def _as_function(node: Call) -> Function:
    """The function of the arguments of a call that makes it."""
    params: list[Var] = []

    def given(type_: Type | None) -> Expr:
        if isinstance(type_, TupleType):
            return tuple_of([given(field) for field in type_.fields])
        params.append(_variable(f"p{len(params)}", type_))
        return params[-1]

    arguments = tuple(given(each.type) for each in node.arguments)
    return Function(tuple(params), replace(node, arguments=arguments))
