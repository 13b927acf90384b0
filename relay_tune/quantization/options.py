"""Options of a network in fewer bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Real

from relay_tune.arguments import did_you_mean, function_argument
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED
from relay_tune.op_rules.quantize.affine import BYTES
from relay_tune.quantization.calibrated import Means
from relay_tune.quantization.choose import AUTO
from relay_tune.quantization.loss import Loss
from relay_tune.quantization.precisions import INT8, WEIGHT_BITS
from relay_tune.quantization.ranges import METHODS
from relay_tune.quantization.weight_only import WEIGHT_TYPES
from relay_tune.quick_dataclass import dataclass

SEARCHED = "auto"
"""The scheme that is searched for."""

SCHEMES = (INT8, *WEIGHT_TYPES, SEARCHED)

ACTIVATIONS: Mapping[str, Sequence[str]] = {
    "w8": ("float32", "int8"),
    "w4": ("float32", "int8"),
    "bf16": ("float32",),
}
"""Types of data beside weights of a scheme; bytes where this does not say."""


@dataclass(frozen=True, slots=True)
class QuantizationOptions:
    """The arguments of `relay_tune.quantize` that hold for every scheme, under its names.

    Raises InputError for values that cannot be.
    """

    scheme: str
    method: str
    activations: str
    max_loss: float | None
    loss: Loss
    threads: int | None
    weight_bits: int = 8

    def __post_init__(self) -> None:
        known = (
            ("scheme", self.scheme, SCHEMES),
            ("method", self.method, (AUTO, *METHODS)),
            ("type of activations", self.activations, (AUTO, *self._activations())),
        )
        for what, value, values in known:
            if value not in values:
                raise InputError(
                    f"There is no {what} {value!r} of quantization.",
                    remedy=did_you_mean(str(value), values, f"Use one of: {', '.join(values)}."),
                )
        _check_largest_loss(self.max_loss)
        self._check_weight_bits()
        function_argument(self.loss, "loss")

    def _activations(self) -> Sequence[str]:
        return ACTIVATIONS.get(self.scheme, BYTES)

    def _check_weight_bits(self) -> None:
        is_number = isinstance(self.weight_bits, int) and not isinstance(self.weight_bits, bool)
        if not is_number or self.weight_bits not in WEIGHT_BITS.values():
            raise InputError(
                f"Weights cannot have {self.weight_bits!r} bits.",
                remedy="Use 8, or 7 for processors with AVX2 and no VNNI.",
            )
        if self.weight_bits != 8 and self.scheme in WEIGHT_TYPES:
            raise InputError(
                f"The scheme {self.scheme!r} fixes how weights are stored.",
                remedy=f"Omit weight_bits, or use the scheme {INT8!r}.",
            )

    @property
    def integers(self) -> str:
        """The precision of layers with weights of so many bits."""
        return next(each for each, bits in WEIGHT_BITS.items() if bits == self.weight_bits)

    def means(self) -> Means:
        """Settings to calibrate data with, on this machine."""
        return Means(
            _stored_type(self.activations),
            self.method,
            self.loss,
            self.threads,
            (self.integers,),
        )


def _stored_type(wanted: str) -> str:
    """The type that this machine multiplies with signed weights, unless one is wanted."""
    if wanted != AUTO:
        return wanted
    products = native_target().machine.dot_products
    is_signed = SIGNED_BYTES.name in products and UNSIGNED_BY_SIGNED.name not in products
    return "int8" if is_signed else "uint8"


def _check_largest_loss(max_loss: float | None) -> None:
    is_number = isinstance(max_loss, Real) and not isinstance(max_loss, bool)
    if max_loss is not None and not (is_number and 0 < max_loss < inf):
        raise InputError(
            f"The largest loss is {max_loss!r}, but must be a finite number above 0.",
            remedy="Give a part of the outputs' magnitude, for example 0.02.",
        )
