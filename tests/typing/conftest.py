"""Toy operators, one for each kind of type relation that inference treats differently."""

from dataclasses import dataclass

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, find_operator, register
from relay_tune.typing.relations import elementwise, joining, matmul, nn, shape


@dataclass(frozen=True)
class AxisAttributes(Attributes):
    axis: int = 0


@dataclass(frozen=True)
class DenseAttributes(Attributes):
    units: int | None = None
    out_dtype: str = ""


@dataclass(frozen=True)
class ShapeAttributes(Attributes):
    newshape: tuple[int, ...] = ()


@dataclass(frozen=True)
class AxesAttributes(Attributes):
    axes: tuple[int, ...]


def _toy(name, arguments, relation, attributes=Attributes):
    if find_operator(name) is None:
        register(
            Operator(
                name,
                arguments,
                relation,
                FusionKind.OPAQUE,
                reference=lambda *_: None,
                attributes=attributes,
            )
        )


_toy("demo.add", ("lhs", "rhs"), elementwise.broadcast)
_toy("demo.less", ("lhs", "rhs"), elementwise.broadcast_comparison)
_toy("demo.exp", ("data",), elementwise.identity)
_toy("demo.concatenate", ("data",), joining.concatenate, AxisAttributes)
_toy("demo.dense", ("data", "weight"), matmul.dense, DenseAttributes)
_toy("demo.reshape", ("data",), shape.reshape, ShapeAttributes)
_toy("demo.transpose", ("data",), shape.transpose, AxesAttributes)
_toy(
    "demo.batch_norm",
    ("data", "gamma", "beta", "mean", "variance"),
    nn.batch_norm,
    AxisAttributes,
)
