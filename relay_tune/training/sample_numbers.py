"""The number of a sample within an index.

    i = outer * (samples * each) + sample * each + inner

Index arithmetic over such an axis is affine in the three: with 16 samples, i // 16 of a folded axis
(time, sample) is `outer`, and i % 16 is `sample`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine, combined, constant, split_quotient, variable
from relay_tune.tensor.expression import Axis, Binary, Literal, Scalar
from relay_tune.tensor.index import axis_range


class CoupledError(Exception):
    """Samples of a batch meet where they must not."""


@dataclass(frozen=True)
class SampleAxis:
    """An axis that counts samples.

    Attributes:
        axis: it.
        each: how many neighbours of it belong to a sample.
        samples: of the batch.
        outer, sample, inner: what its index is made of.
    """

    axis: Axis
    each: int
    samples: int
    outer: Axis
    sample: Axis
    inner: Axis

    def form(self, node: Scalar, forms: Sequence[Affine | None]) -> Affine | None:
        """A node as an affine form, given those of its operands; None where it is none.

        Raises CoupledError where it depends on the number of a sample but is no such form.
        """
        found = self._form(node, forms)
        if found is None and any(map(self.depends, forms)) and not self._cuts(node, forms):
            raise CoupledError
        return found

    def _cuts(self, node: Scalar, forms: Sequence[Affine | None]) -> bool:
        """Whether a node asks if all samples of an outer index lie before a position."""
        if not isinstance(node, Binary) or node.operation not in ("lt", "ge"):
            return False
        left, right = forms
        if left is None or right is None or not right.is_constant:
            return False
        block = self.samples * self.each
        parts = split_quotient(left, block, axis_range)
        return parts is not None and not self.depends(parts[0]) and right.constant % block == 0

    def _form(self, node: Scalar, forms: Sequence[Affine | None]) -> Affine | None:
        if node is self.axis:
            whole = _index(self.outer).scale(self.samples * self.each)
            return whole + _index(self.sample).scale(self.each) + _index(self.inner)
        if isinstance(node, Axis):
            return _index(node)
        if isinstance(node, Literal):
            return constant(node.value) if type(node.value) is int else None
        known = [form for form in forms if form is not None]
        if not isinstance(node, Binary) or len(known) < len(forms):
            return None
        left, right = known
        if node.operation in ("floordiv", "floormod") and right.is_constant and right.constant > 0:
            parts = self._parts(left, right.constant)
            return None if parts is None else parts[node.operation == "floormod"]
        return combined(node.operation, left, right)

    def _parts(self, form: Affine, divisor: int) -> tuple[Affine, Affine] | None:
        """Quotient and remainder; what does not depend on the sample may be anything in both.

        Rows of 64 of a folded axis (sample, row, column), whose inner index is 4 * inner + j:
        (4096 * sample + 4 * inner + j) // 64 is 64 * sample + some number below 64.
        """
        exact = split_quotient(form, divisor, axis_range)
        if exact is not None or not self.depends(form):
            return exact
        whole = {name: n // divisor for name, n in form.terms.items() if n % divisor == 0}
        rest = Affine({n: c for n, c in form.terms.items() if n not in whole}, form.constant)
        least, most = rest.bounds(axis_range)
        if self.depends(rest) or least < 0:
            return None
        number, offset = Axis("number", most // divisor + 1), Axis("place", divisor)
        return Affine(whole) + _index(number), _index(offset)

    def depends(self, form: Affine | None) -> bool:
        """Whether a form depends on the number of the sample."""
        return form is not None and bool(form.coefficient(self.sample))

    def counts(self, index: Affine | None, each: int) -> bool:
        """Whether an index of a tensor with so many neighbours of a sample reads this sample."""
        whole = None if index is None else split_quotient(index, each, axis_range)
        number = None if whole is None else split_quotient(whole[0], self.samples, axis_range)
        if whole is None or number is None or number[1] != variable(self.sample):
            return False
        return not self.depends(whole[1]) and not self.depends(number[0])


def sample_axes(axes: Sequence[Axis], samples: int) -> Iterator[SampleAxis]:
    """The ways in which one of some axes may count samples."""
    for axis in axes:
        rest = axis.extent // samples
        for each in range(1, rest + 1):
            if axis.extent == samples * rest and rest % each == 0:
                outer, inner = Axis("outer", rest // each), Axis("inner", each)
                yield SampleAxis(axis, each, samples, outer, Axis("sample", samples), inner)


def forms_of(
    nodes: Sequence[Scalar],
    counted: SampleAxis,
    operands: Callable[[Scalar], Sequence[Scalar]],
) -> Mapping[Scalar, Affine | None]:
    """The forms of nodes, operands first."""
    forms: dict[Scalar, Affine | None] = {}
    for node in nodes:
        forms[node] = counted.form(node, [forms[part] for part in operands(node)])
    return forms


def _index(axis: Axis) -> Affine:
    return constant(0) if axis.extent == 1 else variable(axis)
