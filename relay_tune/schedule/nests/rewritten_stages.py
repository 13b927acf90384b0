"""Programs some of whose stages an algorithm computes another way.

An algorithm says what becomes of one stage, and which constants that reads. The stages that it
leaves read what stands for their operands now; constants that nothing reads any longer are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.deferred_array import ConstantData, array_of, deferred
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Computed, Input
from relay_tune.tensor.walk import transform

FromSources = Callable[[Mapping[Tensor, Array]], Array]
"""Computes the elements of a constant from those of others."""


@dataclass(frozen=True, eq=False, slots=True)
class Rewriting:
    """What has become of a program before the stage that is looked at.

    Attributes:
        constants: what is known of the program's constants, and of those that were added.
        new: for stages that are no longer as they were written, the tensors that stand for them.
        added: the constants that new stages read.
    """

    constants: dict[Tensor, ConstantData]
    new: dict[Tensor, Tensor] = field(default_factory=dict)
    added: list[tuple[Input, ConstantData]] = field(default_factory=list)

    def now(self, tensor: Tensor) -> Tensor:
        """The tensor that stands for one of the program; itself where it is as it was."""
        return self.new.get(tensor, tensor)

    def rebuilt(self, stage: Computed) -> Computed:
        """The stage with what stands for its operands now; itself where they are as they were."""

        def visit(node: Scalar) -> Scalar:
            if isinstance(node, Load) and node.tensor in self.new:
                return replace(node, tensor=self.new[node.tensor])
            return node

        body = transform(stage.body, visit)
        return stage if body is stage.body else replace(stage, body=body)

    def constant(self, tensor: Input, sources: Sequence[Tensor], compute: FromSources) -> Input:
        """A new constant for new stages to read: what `compute` makes of the arrays of others."""
        known = {source: self.constants[source] for source in sources}

        def elements() -> Array:
            return compute({source: array_of(data) for source, data in known.items()})

        data = deferred(tensor.shape, tensor.dtype, elements)
        self.constants[tensor] = data
        self.added.append((tensor, data))
        return tensor


Rewrite = Callable[[Computed, Rewriting], Tensor | None]
"""The tensor that is to stand for a stage; None where the stage is to stay as it is written."""


def with_rewritten_stages(program: TensorProgram, rewrite: Rewrite) -> TensorProgram | None:
    """The program with its stages as `rewrite` has them; None if it leaves all of them.

    Where it gives y' for y, with a stage t and a constant u of its own, and leaves z:

        before:  y[i] = f(x[..], w[..]);                        z[i] = g(y[i])
        after:   t[p] = h(x[..], u[..]);  y'[i] = f'(t[..]);    z[i] = g(y'[i])

    It is asked for each stage after those that the stage reads.
    """
    rewriting = Rewriting(dict(program.constants))
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed):
            continue
        new = rewrite(tensor, rewriting)
        if new is None:
            new = rewriting.rebuilt(tensor)
        if new is not tensor:
            rewriting.new[tensor] = new
    if not rewriting.new:
        return None
    outputs = tuple(map(rewriting.now, program.outputs))
    used = set(tensors_in_order(outputs))
    constants = (*program.constants, *rewriting.added)
    known = tuple((t, values) for t, values in constants if t in used)
    return replace(program, outputs=outputs, constants=known)
