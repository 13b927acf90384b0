"""Replace calls of small functions that a let names by their bodies.

before:
    def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
      let %gate = fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32]) {
        %0 = sigmoid(%a);
        multiply(%0, %b)
      };
      %1 = %gate(%x, %y);
      add(%x, %1)
    }

after:
    def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
      let %gate = fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32]) {
        %0 = sigmoid(%a);
        multiply(%0, %b)
      };
      %1 = sigmoid(%x);
      %2 = multiply(%1, %y);
      add(%x, %2)
    }

So kernels reach through such functions. A function is never inlined into itself, and only where the
types of the arguments are those of the parameters: then all other types stay as they are.
"""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr, Function, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.reached import reached
from relay_tune.ir.traversal import children, free_vars, post_order, rewrite_with_original
from relay_tune.ir.types import FuncType
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.basic_block_normal_form import ToBasicBlockNormalForm
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.language.inline import inlined_call
from relay_tune.transform.module_pass import map_functions
from relay_tune.typing.infer import infer_types


@dataclass(frozen=True)
class InlineLocal:
    """Inlines functions of at most `maximum_size` nodes, once what they call is inlined."""

    name: ClassVar[str] = "inline_local"
    maximum_size: int = 64

    def __call__(self, module: Module) -> Module:
        """The typed module with calls replaced; the functions stay until dead code goes."""
        if not any(self._named_functions(function) for function in module.functions.values()):
            return module
        blocks = ToBasicBlockNormalForm()(module)  # no node is of a function and of its outside
        result = map_functions(blocks, self._inlined)
        return infer_types(result)

    def _inlined(self, root: Function) -> Function:
        names = self._named_functions(root)
        known: dict[Var, Function] = {}

        def visit(original: Expr, node: Expr) -> Expr:
            if isinstance(original, Function) and isinstance(node, Function):
                var = names.get(original)
                if var is not None and self._is_small(node.body):
                    known[var] = node
                    return _annotated(node)
            elif isinstance(original, Call) and isinstance(node, Call):
                function = known.get(node.callee) if isinstance(node.callee, Var) else None
                if function is not None and _keeps_types(function, original):
                    return inlined_call(function, node)
            return node

        result = rewrite_with_original(root, visit, enter=lambda n: not is_opaque_function(n))
        assert isinstance(result, Function)
        return result

    def _named_functions(self, root: Function) -> dict[Function, Var]:
        """The small functions that a let names and that do not call themselves, and their names."""
        nodes = post_order(root, enter=lambda node: not is_opaque_function(node))
        return {
            node.value: node.var
            for node in nodes
            if isinstance(node, Let)
            and isinstance(node.value, Function)
            and not node.value.is_primitive
            and not node.value.type_params
            and node.var.annotation is None
            and self._is_small(node.value.body)
            and node.var not in free_vars(node.value)
        }

    def _is_small(self, body: Expr) -> bool:
        """Whether a body has few nodes; looks at no more of it than that."""
        nodes = islice(reached([body], children), self.maximum_size + 1)
        return sum(1 for _ in nodes) <= self.maximum_size


def _annotated(function: Function) -> Function:
    """The function with its parameters' types written out: no call may be left to tell them."""
    if all(param.annotation is not None for param in function.params):
        return function
    copy = fresh_copy(function)
    assert isinstance(copy, Function)
    return copy


def _keeps_types(function: Function, call: Call) -> bool:
    """Whether the body has the same types with the arguments of a call in place of parameters."""
    type_ = function.type
    if not isinstance(type_, FuncType) or type_.result != call.type:
        return False
    pairs = zip(call.arguments, type_.params, strict=True)
    return all(argument.type == param for argument, param in pairs)
