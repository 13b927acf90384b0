"""Sum over the rows of all steps of a recursion once, in place of adding a sum in every step.

before:
    def @backward(%tape: Tape) {
      match (%tape) {
        Step(%d, %x, %rest) => add(nn.matmul(%d, %x, transpose_a=True), @backward(%rest)),
        End => zeros(shape=(512, 128)),
      }
    }

after:
    def @backward(%tape: Tape) {
      match (%tape) {
        Step(%d, %x, %rest) => TermProductRows(%d, %x, @backward(%rest)),
        End => NoProductRows,
      }
    }

and where elements of its result are read, all `%d` and all `%x` are written into two matrices that
are multiplied. The gradient of a weight that a recursion uses is such a sum: what a step read and
what flows back of a product become two rows, and many products of one row become one.

Which tensors become collections is found for all that flows into each other, through parameters,
results, tuples and data types (`flow.py`, `choose.py`). Terms are added in the order of the
recursion, with another rounding than before.
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.row_sums import row_sum
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.row_sums.choose import collected_cells, recursive_functions
from relay_tune.transform.row_sums.flow import flow_of
from relay_tune.transform.row_sums.rewriting import with_collected_rows


@dataclass(frozen=True)
class CollectRows:
    """Collects the rows of sums that functions of the module add up while they call themselves.

    Fields:
        accuracy: nothing is collected under "exact", where sums keep their order.
    """

    name: ClassVar[str] = "collect_rows"
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The typed module with one sum in place of one in every step."""
        if self.accuracy is Accuracy.EXACT or not _has_sums(module):
            return module
        flow = flow_of(module)
        cells = collected_cells(flow)
        return with_collected_rows(flow, cells) if cells else module


def _has_sums(module: Module) -> bool:
    """Whether a function that calls itself computes a sum over rows."""
    functions = (module[name] for name in recursive_functions(module))
    return any(row_sum(node) is not None for each in functions for node in post_order(each))
