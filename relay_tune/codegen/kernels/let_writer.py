"""Named values: affine ones are put in where they are used, others computed once."""

from __future__ import annotations

from relay_tune.codegen.kernels.block_edges import Write
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Scalar
from relay_tune.tensor.loops import Let
from relay_tune.tensor.size import is_symbolic


@dataclass(frozen=True, slots=True)
class LetWriter:
    """Writes such statements, their bodies with `write`."""

    values: ValueWriter
    write: Write

    def let(self, node: Let) -> None:
        """Name a value; one that is not affine starts a level, as the variable of a loop does.

        So does an open size, whose multiples are then computed once.
        """
        form = self.values.indices.affine(node.value)
        if form is not None and not is_symbolic(form.constant):
            self.values.indices.environment[node.axis] = form
            steps = self._steps(node.value, form)
            if steps is not None:
                self.values.loads.unrolled[node.axis] = steps
            self.write(node.body)
            self.values.loads.unrolled.pop(node.axis, None)
            return
        writer = self.values.writer
        value = self.values.evaluate(node.value).text
        name = writer.fresh("let")
        writer.line(f"{name} = add i64 {value}, 0")
        with writer.level():
            writer.bind(name, 0, node.axis.extent - 1)
            self.values.indices.environment[node.axis] = Affine({name: 1})
            self.write(node.body)

    def _steps(self, value: Scalar, form: Affine) -> tuple[int, int] | None:
        """The steps by one that the unrolled loops around make with a value, if they do."""
        for axis, steps in self.values.loads.unrolled.items():
            here = self.values.indices.environment[axis]
            self.values.indices.environment[axis] = here.shift(1)
            moved = self.values.indices.affine(value)
            self.values.indices.environment[axis] = here
            if moved == form.shift(1):
                return steps
        return None
