"""Some bits of words as numbers with signs: float32(word << 20 >> 28)."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Binary, Cast, Literal, Scalar

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class SignedField:
    """A conversion of bits of a word to float32.

    Attributes:
        shifted: the number as int32, the shift to the right.
        word: what the bits are of.
        up: how far it is shifted to the left before.
        bits: how many they are.
    """

    shifted: Scalar
    word: Scalar
    up: Scalar
    bits: int

    @property
    def values(self) -> list[float]:
        """The number for each pattern of the bits."""
        half = 2 ** (self.bits - 1)
        return [float(each if each < half else each - 2 * half) for each in range(2 * half)]


def signed_field(node: Cast) -> SignedField | None:
    """Match the conversion of a signed field; None of other expressions."""
    right = node.operand
    if node.dtype != "float32" or not isinstance(right, Binary) or right.dtype != "int32":
        return None
    left = right.left
    if right.operation != "shr" or not isinstance(right.right, Literal):
        return None
    if not isinstance(left, Binary) or left.operation != "shl":
        return None
    bits = WORD_BITS - int(right.right.value)
    return SignedField(right, left.left, left.right, bits) if 0 < bits < WORD_BITS else None
