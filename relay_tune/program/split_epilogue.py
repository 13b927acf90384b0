"""A primitive in two: the product with large constants, and what follows with other arguments.

before: fn (%p0, %p1, Primitive=1) { add(%p1, sigmoid(nn.dense(%p0, W))) }
after:  fn (%p0, Primitive=1) { sigmoid(nn.dense(%p0, W)) }
        fn (%q, %p1, Primitive=1) { add(%p1, %q) }

A kernel waits for all of its arguments. Alone, the product waits for its own, so that more calls
of it are independent.
"""

from __future__ import annotations

from relay_tune.ir.expr import Call, Constant, Expr, Function, Var
from relay_tune.ir.traversal import children, post_order, rewrite_with_original
from relay_tune.ir.types import FuncType, TensorType
from relay_tune.op.decisive import part_attributes
from relay_tune.quick_dataclass import dataclass

SMALLEST_SHARED_CONSTANTS = 1 << 15
"""Bytes of constants from which on it is worth that several calls share one pass over them."""


@dataclass(frozen=True, eq=False, slots=True)
class SplitPrimitive:
    """Two primitives in place of one.

    Attributes:
        product: the first.
        places: the positions of its arguments among those of the original.
        epilogue: the second; its first argument is the result of the product.
        epilogue_places: the positions of its other arguments.
    """

    product: Function
    places: tuple[int, ...]
    epilogue: Function
    epilogue_places: tuple[int, ...]


def is_worth_joining(primitive: Function) -> bool:
    """Whether a primitive reads so many constants that several calls of it should share them."""
    nodes = post_order(primitive.body)
    return any(_constant_bytes(node) >= SMALLEST_SHARED_CONSTANTS for node in nodes)


def waiting_part(primitive: Function) -> tuple[Function, tuple[int, ...]]:
    """What of a primitive waits, its product or all of it, and which arguments of it that reads."""
    split = split_epilogue(primitive)
    if split is None:
        return primitive, tuple(range(len(primitive.params)))
    return split.product, split.places


def split_epilogue(primitive: Function) -> SplitPrimitive | None:
    """The two parts; None unless there is one product, and an epilogue with other arguments."""
    nodes = list(post_order(primitive.body))
    anchors = [node for node in nodes if _constant_bytes(node) >= SMALLEST_SHARED_CONSTANTS]
    if len(anchors) != 1:
        return None
    params: dict[Expr, frozenset[Var]] = {}
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        own = frozenset([node]) if isinstance(node, Var) else frozenset()
        params[node] = own.union(*(params[child] for child in children(node)))
        for child in children(node):
            users.setdefault(child, []).append(node)
    root = anchors[0]
    while root is not primitive.body and len(users[root]) == 1:
        if params[users[root][0]] != params[root]:
            break
        root = users[root][0]
    if root is primitive.body or root.type is None:
        return None
    result = Var("product", root.type, type=root.type)
    rest = rewrite_with_original(
        primitive.body, lambda original, node: result if original is root else node
    )
    used = {node for node in post_order(rest) if isinstance(node, Var)}
    positions = [n for n, param in enumerate(primitive.params) if param in params[root]]
    others = [n for n, param in enumerate(primitive.params) if param in used]
    product = _primitive(primitive, [primitive.params[n] for n in positions], root)
    epilogue = _primitive(primitive, [result, *(primitive.params[n] for n in others)], rest)
    if product is None or epilogue is None:
        return None
    return SplitPrimitive(product, tuple(positions), epilogue, tuple(others))


def _constant_bytes(node: Expr) -> int:
    """The bytes of constants that a call reads itself."""
    if not isinstance(node, Call):
        return 0
    return sum(a.data.nbytes for a in node.arguments if isinstance(a, Constant))


def _primitive(whole: Function, params: list[Var], body: Expr) -> Function | None:
    """A typed primitive function of tensors, a part of another; None if there are others."""
    types = tuple(param.type for param in params if isinstance(param.type, TensorType))
    if len(types) != len(params) or not isinstance(body.type, TensorType):
        return None
    type_ = FuncType(types, body.type)
    return Function(
        tuple(params), body, result_type=body.type, attributes=part_attributes(whole), type=type_
    )
