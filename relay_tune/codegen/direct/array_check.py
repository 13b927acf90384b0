"""Whether an array is exactly as wanted."""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Block
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.direct.python_objects import (
    ALIGNED,
    CONTIGUOUS,
    DTYPE,
    ELEMENTS,
    FLAGS,
    RANK,
    SIZES,
    PythonObjects,
)
from relay_tune.codegen.direct.words import ArrayForm

NO_SIZE = -1
"""The size of a symbol that is not known yet."""


def check_array(
    code: FunctionBuilder,
    python: PythonObjects,
    array: Operand,
    form: Operand,
    symbols: Operand,
    refused: Block,
) -> Operand:
    """Compare an array with an ArrayForm, and leave `refused` if they differ; gives its sizes.

    A wanted size below zero is a symbol: number -1 - size of `symbols`. An array that was pickled,
    by a queue between processes say, has an element type of its own with the same fields.
    """
    dtype, wanted_rank, wanted_sizes = form.words(ArrayForm.DTYPE, ArrayForm.RANK, ArrayForm.SIZES)
    rank, sizes = python.field(array, RANK, "i32"), python.field(array, SIZES)
    flags = python.field(array, FLAGS, "i32") & (CONTIGUOUS | ALIGNED)
    own = python.field(array, DTYPE)
    with code.when(own.ne(dtype)):
        kind, wanted_kind = (python.field(each, ELEMENTS, "i64") for each in (own, dtype))
        refused.leave_if(kind.ne(wanted_kind))
    refused.leave_if(~(rank.eq(wanted_rank) & flags.eq(CONTIGUOUS | ALIGNED)))
    with code.count(rank) as axis:
        size = sizes.item("i64", axis.index).load()
        wanted = wanted_sizes.item("i64", axis.index).load()
        axis.again_if(size.eq(wanted))
        refused.leave_if(wanted.sge(0))
        symbol = symbols.item("i64", -1 - wanted)
        known = symbol.load()
        with code.when(known.eq(NO_SIZE)):
            symbol.store(size)
            axis.again()
        refused.leave_if(size.ne(known))
    return sizes
