"""Functions that LLVM calls where a processor lacks an instruction, and that no system has.

They convert 16-bit floats, as IEEE 754 rounds: to nearest, ties to even. Their names and meanings
are those of the run-time libraries of GCC and LLVM.

    float  __extendhfsf2(half)
    half   __truncsfhf2(float)      half   __truncdfhf2(double)
    bfloat __truncsfbf2(float)      bfloat __truncdfbf2(double)
    float  roundevenf(float)        double roundeven(double)     (in glibc since 2.25 only)
"""

from __future__ import annotations

from collections.abc import Iterable

_EXTEND_HALF = """\
define float @__extendhfsf2(half %x) nounwind {
  %bits16 = bitcast half %x to i16
  %bits = zext i16 %bits16 to i32
  %signed = and i32 %bits, 32768
  %sign = shl i32 %signed, 16
  %rest = and i32 %bits, 32767
  %moved = shl i32 %rest, 13
  %special = icmp uge i32 %rest, 31744
  %bias = select i1 %special, i32 1879048192, i32 939524096
  %normal = add i32 %moved, %bias
  %tiny = icmp ult i32 %rest, 1024
  %number = uitofp i32 %rest to float
  %scaled = fmul float %number, 0x3E70000000000000
  %small = bitcast float %scaled to i32
  %size = select i1 %tiny, i32 %small, i32 %normal
  %all = or i32 %size, %sign
  %y = bitcast i32 %all to float
  ret float %y
}
"""

_TRUNCATE = """\
define {narrow} @{name}({wide} %x) nounwind {{
  %bits = bitcast {wide} %x to i{w}
  %sign_far = lshr i{w} %bits, {sign_shift}
  %sign_wide = and i{w} %sign_far, 32768
  %size = and i{w} %bits, {magnitude}
  %is_nan = icmp ugt i{w} %size, {infinity}
  %nan_far = lshr i{w} %size, {shift}
  %nan_low = and i{w} %nan_far, {payload}
  %nan = or i{w} %nan_low, {quiet}
  %is_small = icmp ult i{w} %size, {least_normal}
  %field = lshr i{w} %size, {fraction}
  %is_subnormal = icmp eq i{w} %field, 0
  %exponent = select i1 %is_subnormal, i{w} 1, i{w} %field
  %below = sub i{w} {small_exponent}, %exponent
  %is_gone = icmp ugt i{w} %below, {gone}
  %steps = select i1 %is_gone, i{w} {gone}, i{w} %below
  %low = and i{w} %size, {fraction_mask}
  %with_one = or i{w} %low, {one}
  %significand = select i1 %is_subnormal, i{w} %low, i{w} %with_one
  %adjusted = sub i{w} %size, {rebias}
  %source = select i1 %is_small, i{w} %significand, i{w} %adjusted
  %distance = select i1 %is_small, i{w} %steps, i{w} {shift}
  %kept = lshr i{w} %source, %distance
  %before = sub i{w} %distance, 1
  %half = shl i{w} 1, %before
  %mask_end = shl i{w} 1, %distance
  %mask = sub i{w} %mask_end, 1
  %dropped = and i{w} %source, %mask
  %above = icmp ugt i{w} %dropped, %half
  %tie = icmp eq i{w} %dropped, %half
  %odd = trunc i{w} %kept to i1
  %tie_up = and i1 %tie, %odd
  %up = or i1 %above, %tie_up
  %more = zext i1 %up to i{w}
  %rounded = add i{w} %kept, %more
  %over = icmp ugt i{w} %rounded, {narrow_infinity}
  %finite = select i1 %over, i{w} {narrow_infinity}, i{w} %rounded
  %is_large = icmp uge i{w} %size, {overflow}
  %limited = select i1 %is_large, i{w} {narrow_infinity}, i{w} %finite
  %value = select i1 %is_nan, i{w} %nan, i{w} %limited
  %all = or i{w} %value, %sign_wide
  %low16 = trunc i{w} %all to i16
  %y = bitcast i16 %low16 to {narrow}
  ret {narrow} %y
}}
"""

_ROUND_EVEN = """\
declare {type} @{nearby}({type})
define {type} @{name}({type} %x) nounwind {{
  %y = call {type} @{nearby}({type} %x)
  ret {type} %y
}}
"""

_WIDE = {"float": (32, 23, 127), "double": (64, 52, 1023)}
_NARROW = {"half": (10, 15), "bfloat": (7, 127)}
"""Bits of the fraction and the bias of the exponent; of the wide types also all bits."""


def _truncation(name: str, wide: str, narrow: str) -> str:
    bits, fraction, bias = _WIDE[wide]
    narrow_fraction, narrow_bias = _NARROW[narrow]
    shift = fraction - narrow_fraction
    least = bias - narrow_bias + 1  # the exponent of the least normal number of the narrow type
    infinity = ((1 << bits - 1 - fraction) - 1) << fraction
    narrow_infinity = ((1 << 15 - narrow_fraction) - 1) << narrow_fraction
    return _TRUNCATE.format(
        name=name,
        wide=wide,
        narrow=narrow,
        w=bits,
        sign_shift=bits - 16,
        magnitude=(1 << bits - 1) - 1,
        infinity=infinity,
        shift=shift,
        payload=(1 << narrow_fraction) - 1,
        quiet=narrow_infinity | 1 << narrow_fraction - 1,
        least_normal=max(least, 1) << fraction,
        fraction=fraction,
        small_exponent=least + shift,
        gone=fraction + 2,
        fraction_mask=(1 << fraction) - 1,
        one=1 << fraction,
        rebias=(bias - narrow_bias) << fraction,
        narrow_infinity=narrow_infinity,
        overflow=(bias + narrow_bias + 1) << fraction,
    )


_FUNCTIONS = {
    "__extendhfsf2": _EXTEND_HALF,
    "__truncsfhf2": _truncation("__truncsfhf2", "float", "half"),
    "__truncdfhf2": _truncation("__truncdfhf2", "double", "half"),
    "__truncsfbf2": _truncation("__truncsfbf2", "float", "bfloat"),
    "__truncdfbf2": _truncation("__truncdfbf2", "double", "bfloat"),
    "roundevenf": _ROUND_EVEN.format(name="roundevenf", type="float", nearby="nearbyintf"),
    "roundeven": _ROUND_EVEN.format(name="roundeven", type="double", nearby="nearbyint"),
}


def mentioned_functions(images: Iterable[bytes]) -> frozenset[str]:
    """Those of the functions whose names occur in object files, which may call them."""
    found = {name for image in images for name in _FUNCTIONS if name.encode() in image}
    return frozenset(found)


def compiler_runtime_text(triple: str, wanted: Iterable[str], *, is_weak: bool = False) -> str:
    """The LLVM module of those functions among `wanted` that are known; empty without any.

    Weak ones give way to others of the same name.
    """
    texts = [_FUNCTIONS[name] for name in sorted(set(wanted)) if name in _FUNCTIONS]
    if is_weak:
        texts = [text.replace("define ", "define weak ") for text in texts]
    return "\n".join([f'target triple = "{triple}"', *texts]) if texts else ""
