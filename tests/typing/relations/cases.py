"""What the tests of type relations share: types in few words, and one call of a relation."""

from types import ModuleType, SimpleNamespace

from relay_tune.ir.types import TensorType, TupleType
from relay_tune.typing.solver import Solver


def tensor(*shape, dtype="float32"):
    return TensorType(shape, dtype)


def tuple_of(*fields):
    return TupleType(fields)


def applied(relations: ModuleType):
    """Calls the relation of a name with types and attributes."""

    def apply(name, inputs, attributes):
        return getattr(relations, name)(inputs, SimpleNamespace(**attributes), Solver())

    return apply
