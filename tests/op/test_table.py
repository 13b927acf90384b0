"""Rules that every record of the table keeps."""

import inspect
from dataclasses import fields

import pytest

import relay_tune.op  # noqa: F401  registers all operators
from relay_tune.ir.operator import FusionKind, Operator, operators

FINDS_SIZES = frozenset(
    "argwhere dyn.arange dyn.broadcast_to dyn.full dyn.ones dyn.reshape dyn.strided_slice dyn.tile "
    "dyn.topk dyn.zeros strided_slice unique".split()
)
"""The shape of the result may depend on values, and the operator finds it."""

OF_FUNCTIONS = frozenset(
    "checkpoint checkpointed custom_jvp custom_vjp derivative grad jvp ruled vjp".split()
)
"""They take functions, and a pass replaces them."""

TABLE = tuple(o for o in operators() if not o.name.startswith(("test.", "demo.")))
"""Without the operators that other tests register for themselves."""


def by_name(operator: Operator) -> str:
    return operator.name


@pytest.mark.parametrize("operator", TABLE, ids=by_name)
def test_a_record_is_complete(operator):
    assert callable(operator.reference)
    assert operator.documentation.strip()
    is_computed = operator.compute is not None or operator.composition is not None
    assert is_computed == (operator.name not in OF_FUNCTIONS)
    assert (operator.sizes is not None) == (operator.name in FINDS_SIZES)
    if operator.name in FINDS_SIZES - {"strided_slice"}:
        assert operator.kind is FusionKind.OPAQUE


@pytest.mark.parametrize("operator", TABLE, ids=by_name)
def test_every_attribute_is_documented(operator):
    """In its own class, a base class, or a class of the same file that it refers to."""
    classes = list(operator.attributes.__mro__)
    classes += vars(inspect.getmodule(operator.attributes)).values()
    text = "\n".join(inspect.getdoc(c) or "" for c in classes if inspect.isclass(c))
    for attribute in fields(operator.attributes):
        if attribute.init:
            assert f"{attribute.name}:" in text, attribute.name


def test_the_names_of_the_table():
    names = {operator.name for operator in TABLE}
    assert {"add", "nn.conv2d", "reshape", "sort", "layout_transform", "take"} <= names
