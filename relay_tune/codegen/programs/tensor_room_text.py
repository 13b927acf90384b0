"""The memory of a tensor whose size is known at run time only, as LLVM IR.

    { i64, i64 } tensor_room(i64 bytes)          the size class of an object with so many bytes of
                                                 elements, and that class's bytes

The class of a size is found as `relay_tune.first_order.layouts.size_class` does: steps of 16 bytes,
then four classes a power of two.
"""

from __future__ import annotations

from relay_tune.first_order.layouts import SMALL_LIMIT, SMALL_STEP, TENSOR_DATA


def tensor_room_text() -> str:
    """The function."""
    small_classes = SMALL_LIMIT // SMALL_STEP
    return _TEMPLATE.format(
        header=TENSOR_DATA + 63,
        limit=SMALL_LIMIT,
        step=SMALL_STEP,
        before=small_classes - 4 * (SMALL_LIMIT.bit_length() - 1) - 1,
    )


_TEMPLATE = """\
declare i64 @llvm.ctlz.i64(i64, i1)

define internal {{ i64, i64 }} @tensor_room(i64 %bytes) nounwind {{
entry:
  %padded = add i64 %bytes, {header}
  %size = and i64 %padded, -64
  %is_small = icmp ule i64 %size, {limit}
  br i1 %is_small, label %small, label %large
small:
  %steps = udiv i64 %size, {step}
  %small_class = sub i64 %steps, 1
  br label %end
large:
  %last = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 2
  %quarter = shl i64 1, %shift
  %whole = shl i64 1, %power
  %over = sub i64 %size, %whole
  %rounded = add i64 %over, %quarter
  %up = sub i64 %rounded, 1
  %quarters = lshr i64 %up, %shift
  %fours = shl i64 %power, 2
  %base = add i64 %fours, {before}
  %large_class = add i64 %base, %quarters
  %part = shl i64 %quarters, %shift
  %large_bytes = add i64 %whole, %part
  br label %end
end:
  %class = phi i64 [ %small_class, %small ], [ %large_class, %large ]
  %class_bytes = phi i64 [ %size, %small ], [ %large_bytes, %large ]
  %first = insertvalue {{ i64, i64 }} poison, i64 %class, 0
  %both = insertvalue {{ i64, i64 }} %first, i64 %class_bytes, 1
  ret {{ i64, i64 }} %both
}}
"""
