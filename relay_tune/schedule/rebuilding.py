"""Stages that read other tensors than before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import transform


def rebuilt(stage: Computed, changed: Mapping[Tensor, Tensor]) -> Computed:
    """The stage with its loads going to the new tensors; itself if it reads none of them."""

    def visit(node: Scalar) -> Scalar:
        if isinstance(node, Load) and node.tensor in changed:
            return replace(node, tensor=changed[node.tensor])
        return node

    body = transform(stage.body, visit)
    return stage if body is stage.body else replace(stage, body=body)
