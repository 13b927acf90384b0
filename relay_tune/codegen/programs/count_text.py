"""Reference counts of objects as LLVM IR.

Static objects have negative counts, which stay as they are.

`relay_tune_drop` frees an object whose last reference has gone, and all that die with it. The dying
objects wait in a list that is linked through themselves, so a list of any length needs no stack.
"""

from __future__ import annotations

COUNT_TEXT = """\
define internal void @retain(ptr %object) nounwind {
entry:
  %count = load i32, ptr %object, align 8
  %static = icmp slt i32 %count, 0
  br i1 %static, label %end, label %add
add:
  %more = add i32 %count, 1
  store i32 %more, ptr %object, align 8
  br label %end
end:
  ret void
}

define internal i1 @lose(ptr %object) nounwind {
entry:
  %count = load i32, ptr %object, align 8
  %static = icmp slt i32 %count, 0
  br i1 %static, label %end, label %subtract
subtract:
  %less = sub i32 %count, 1
  store i32 %less, ptr %object, align 8
  %dead = icmp eq i32 %less, 0
  br label %end
end:
  %result = phi i1 [ false, %entry ], [ %dead, %subtract ]
  ret i1 %result
}

define internal void @release(ptr %session, ptr %object) nounwind {
entry:
  %dead = call i1 @lose(ptr %object)
  br i1 %dead, label %gone, label %end
gone:
  call void @relay_tune_drop(ptr %session, ptr %object)
  br label %end
end:
  ret void
}

"""
"""The functions that count references."""

DROP_TEXT = """\
@relay_tune_layouts = external constant ptr

define void @relay_tune_drop(ptr %session, ptr %object) nounwind {
entry:
  %first_link = getelementptr i8, ptr %object, i64 8
  store ptr null, ptr %first_link, align 8
  br label %next
next:
  %current = phi ptr [ %object, %entry ], [ %waiting, %free ]
  %link_at = getelementptr i8, ptr %current, i64 8
  %others = load ptr, ptr %link_at, align 8
  %layout_at = getelementptr i8, ptr %current, i64 6
  %layout = load i16, ptr %layout_at, align 2
  %table_at = getelementptr ptr, ptr @relay_tune_layouts, i16 %layout
  %table = load ptr, ptr %table_at, align 8
  br label %field
field:
  %number = phi i64 [ 0, %next ], [ %following, %fields ]
  %waiting = phi ptr [ %others, %next ], [ %longer, %fields ]
  %offset_at = getelementptr i32, ptr %table, i64 %number
  %offset = load i32, ptr %offset_at, align 4
  %all = icmp eq i32 %offset, 0
  br i1 %all, label %free, label %look
look:
  %wide = zext i32 %offset to i64
  %part_at = getelementptr i8, ptr %current, i64 %wide
  %part = load ptr, ptr %part_at, align 8
  %dead = call i1 @lose(ptr %part)
  br i1 %dead, label %push, label %fields
push:
  %part_link = getelementptr i8, ptr %part, i64 8
  store ptr %waiting, ptr %part_link, align 8
  br label %fields
fields:
  %longer = phi ptr [ %waiting, %look ], [ %part, %push ]
  %following = add i64 %number, 1
  br label %field
free:
  %class_at = getelementptr i8, ptr %current, i64 4
  %class = load i16, ptr %class_at, align 4
  %class_number = zext i16 %class to i64
  call void @give_block(ptr %session, ptr %current, i64 %class_number)
  %end = icmp eq ptr %waiting, null
  br i1 %end, label %done, label %next
done:
  ret void
}

"""
"""The function that frees objects; it needs the heap's, and the tables of the layouts."""

DROP_TENSOR_TEXT = """\
define void @relay_tune_drop(ptr %session, ptr %object) nounwind {
entry:
  %class_at = getelementptr i8, ptr %object, i64 4
  %class = load i16, ptr %class_at, align 4
  %class_number = zext i16 %class to i64
  call void @give_block(ptr %session, ptr %object, i64 %class_number)
  ret void
}

"""
"""The same where all objects are tensors."""
