"""Matrix products of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.einsum import translate_einsum
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import is_float
from relay_tune.ir.expr import Expr


def matrix_product(build: Builder, left: Expr, right: Expr, out_dtype: str = "") -> Expr:
    """The product of stacks of matrices as numpy's matmul has it: vectors are rows or columns.

    It has the element type of the left one where no other one is asked for.
    """
    if rank_of(left) == 0 or rank_of(right) == 0:
        raise ModelError("a matrix product needs at least one dimension on both sides.")
    if rank_of(right) == 1:
        column = build.call("expand_dims", right, axis=1)
        product = matrix_product(build, left, column, out_dtype)
        return build.call("squeeze", product, axis=(rank_of(product) - 1,))
    if rank_of(right) == 2:
        return build.call("nn.matmul", left, right, out_dtype=out_dtype)
    if rank_of(left) == 1:
        row = build.call("expand_dims", left, axis=0)
        product = matrix_product(build, row, right, out_dtype)
        return build.call("squeeze", product, axis=(rank_of(product) - 2,))
    rank = max(rank_of(left), rank_of(right))
    left, right = (_with_rank(build, each, rank) for each in (left, right))
    return build.call("nn.batch_matmul", left, right, transpose_b=False, out_dtype=out_dtype)


def _with_rank(build: Builder, data: Expr, rank: int) -> Expr:
    """`data` with axes of size 1 in front."""
    missing = rank - rank_of(data)
    return build.call("expand_dims", data, axis=0, num_newaxis=missing) if missing else data


def translate_matmul(node: OnnxNode, build: Builder) -> Expr:
    """A product of (stacks of) matrices."""
    return matrix_product(build, node.input(0), node.input(1))


def translate_gemm(node: OnnxNode, build: Builder) -> Expr:
    """alpha A B + beta C, with A and B possibly transposed."""
    left, right, bias = node.input(0), node.input(1), node.optional(2)
    if rank_of(left) != 2 or rank_of(right) != 2:
        raise ModelError("both factors must be matrices.")
    product = build.call(
        "nn.matmul",
        left,
        right,
        transpose_a=node.flag("transA", 0),
        transpose_b=node.flag("transB", 0),
    )
    product = _weighted(build, product, node.number("alpha", 1.0))
    if bias is None:
        return product
    return build.call("add", product, _weighted(build, bias, node.number("beta", 1.0)))


def _weighted(build: Builder, data: Expr, factor: float) -> Expr:
    """`factor * data`; a factor of integers must be an integer."""
    if not is_float(dtype_of(data)) and factor != int(factor):
        raise ModelError(f"integers cannot be multiplied by {factor}.")
    return scaled(build, data, factor if is_float(dtype_of(data)) else int(factor))


MATMULS: Mapping[str, Translator] = {
    "MatMul": translate_matmul,
    "Gemm": translate_gemm,
    "Einsum": translate_einsum,
}
