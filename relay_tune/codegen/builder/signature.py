"""What functions take and give, and variables of modules."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """LLVM types of a result and of parameters."""

    result: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that can be called by its name.

    Attributes:
        name: its symbol.
        signature: its types.
        is_internal: whether other modules do not see it; then the module that calls it defines it.
        attributes: LLVM's attributes of the definition or declaration.
    """

    name: str
    signature: Signature
    is_internal: bool = False
    attributes: str = "nounwind"

    @property
    def returns(self) -> bool:
        """Whether a call comes back."""
        return "noreturn" not in self.attributes.split()


def function(result: str, name: str, *parameters: str, attributes: str = "nounwind") -> Callee:
    """A function that other modules define or see."""
    return Callee(name, Signature(result, parameters), attributes=attributes)


def internal(result: str, name: str, *parameters: str, attributes: str = "nounwind") -> Callee:
    """A function of one module alone."""
    return Callee(name, Signature(result, parameters), is_internal=True, attributes=attributes)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module: its name, LLVM type, first value and alignment in bytes.

    One that threads share has a cache line of its own.
    """

    name: str
    type: str
    value: str = "0"
    alignment: int = 64
