"""Whether an array is exactly as wanted, in LLVM IR for functions that Python calls.

numpy's C interface fixes the fields of an array (`PyArrayObject_fields` in `ndarraytypes.h`): after
the head of the object the address of the elements, the rank, and the addresses of sizes, strides,
base and element type, then the flags.
"""

from __future__ import annotations

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Bits of the flags of an array."""

DATA, RANK, SIZES, DTYPE, FLAGS = 0, 8, 16, 40, 48
"""Offsets in an array, after the head of the object."""

NO_SIZE = -1
"""The size of a symbol that is not known yet."""


def array_check_text(head: int, array: str, fits: str) -> str:
    """Instructions that compare `array` with %wanted_dtype, %wanted_rank and %wanted_sizes.

    They stand at the end of the block `array`, leave the address of the elements in %elements and
    that of the sizes in %sizes, and go on with the block `fits`, or else with `refuse`. `head` are
    the bytes before the fields of an object. A wanted size below zero is a symbol: number
    -1 - size of %symbols.
    """
    return _TEMPLATE.format(
        array=array,
        fits=fits,
        data=head + DATA,
        rank=head + RANK,
        sizes=head + SIZES,
        dtype=head + DTYPE,
        flags=head + FLAGS,
        wanted=CONTIGUOUS | ALIGNED,
        no_size=NO_SIZE,
    )


_TEMPLATE = """\
  %elements_at = getelementptr i8, ptr {array}, i64 {data}
  %rank_at = getelementptr i8, ptr {array}, i64 {rank}
  %sizes_at = getelementptr i8, ptr {array}, i64 {sizes}
  %dtype_at = getelementptr i8, ptr {array}, i64 {dtype}
  %flags_at = getelementptr i8, ptr {array}, i64 {flags}
  %elements = load ptr, ptr %elements_at, align 8
  %rank = load i32, ptr %rank_at, align 8
  %sizes = load ptr, ptr %sizes_at, align 8
  %dtype = load ptr, ptr %dtype_at, align 8
  %flags = load i32, ptr %flags_at, align 8
  %same_dtype = icmp eq ptr %dtype, %wanted_dtype
  %same_rank = icmp eq i32 %rank, %wanted_rank
  %both = and i32 %flags, {wanted}
  %ready = icmp eq i32 %both, {wanted}
  %alike = and i1 %same_dtype, %same_rank
  %usable = and i1 %alike, %ready
  br i1 %usable, label %size, label %refuse
size:
  %axis = phi i32 [ 0, %array ], [ %next_axis, %compare ], [ %next_axis, %bind ],
          [ %next_axis, %bound ]
  %more = icmp slt i32 %axis, %rank
  br i1 %more, label %compare, label %{fits}
compare:
  %size_at = getelementptr i64, ptr %sizes, i32 %axis
  %wanted_size_at = getelementptr i64, ptr %wanted_sizes, i32 %axis
  %extent = load i64, ptr %size_at, align 8
  %wanted_extent = load i64, ptr %wanted_size_at, align 8
  %next_axis = add i32 %axis, 1
  %same_size = icmp eq i64 %extent, %wanted_extent
  br i1 %same_size, label %size, label %differ
differ:
  %is_symbol = icmp slt i64 %wanted_extent, 0
  br i1 %is_symbol, label %symbol, label %refuse
symbol:
  %symbol_number = sub i64 -1, %wanted_extent
  %symbol_at = getelementptr i64, ptr %symbols, i64 %symbol_number
  %symbol_size = load i64, ptr %symbol_at, align 8
  %is_new = icmp eq i64 %symbol_size, {no_size}
  br i1 %is_new, label %bind, label %bound
bind:
  store i64 %extent, ptr %symbol_at, align 8
  br label %size
bound:
  %same_symbol = icmp eq i64 %extent, %symbol_size
  br i1 %same_symbol, label %size, label %refuse
"""
