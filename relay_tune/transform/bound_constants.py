"""Mark kernels whose constants of bytes have pairs that add up to little.

before: fn (%x: Tensor[(8, 64), uint8]) { nn.dense(%x, W, out_dtype="int32") }        |W| <= 64
after:  fn (%x: Tensor[(8, 64), uint8], Bounded=((0, 0), (0, 1))) {
            nn.dense(%x, W, out_dtype="int32") }

So are weights of 7 bits, which quantizers make for processors that add up products of bytes in 16
bits. Kernels for any weights widen them to 16 bits first there (`relay_tune.op.bounded_constants`).
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BOUNDED_BYTES
from relay_tune.op.bounded_constants import with_bounded_dimensions, without_bounded_dimensions
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.kernel_programs import kernel_of
from relay_tune.transform.module_pass import rewrite_calls


@dataclass(frozen=True)
class BoundConstants:
    """Marks kernels whose weights allow an instruction that other weights do not.

    Fields:
        machine: where it has no such instruction, or one for any weights, nothing is marked.
    """

    name: ClassVar[str] = "bound_constants"
    machine: Machine = field(default_factory=lambda: native_target().machine)

    def __call__(self, module: Module) -> Module:
        """The module with marked kernels; itself where there are none."""
        is_asked = BOUNDED_BYTES.name in self.machine.dot_products
        mark = with_bounded_dimensions if is_asked else without_bounded_dimensions
        made: dict[Function, Function] = {}

        def visit(node: Expr) -> Expr:
            kernel = kernel_of(node)
            if kernel is None:
                return node
            assert isinstance(node, Call)
            if kernel not in made:
                made[kernel] = mark(kernel)
            own = made[kernel]
            return node if own is kernel else replace(node, callee=own)

        return rewrite_calls(module, visit)
