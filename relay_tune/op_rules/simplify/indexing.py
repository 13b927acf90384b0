"""Known indices: reads that are evenly spaced are slices, writes of neighbours into zeros pads."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute, constant_data, static_shape, uniform_value
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, constant_of, reshape


def evenly_spaced(call_: Call) -> Expr | None:
    """take(x, [1, 3, 5], axis=0) is x[1:6:2], and take(x, 4, axis=0) is x[4:5] without the axis.

    A slice may be a view, and kernels read through it without indices. An index that is out of
    range for mode "raise" stays, for its error.
    """
    data, shape, result = call_.arguments[0], static_shape(call_.arguments[0]), static_shape(call_)
    indices, axis = constant_data(call_.arguments[1]), attribute(call_, "axis")
    if indices is None or axis is None or shape is None or result is None:
        return None
    if attribute(call_, "batch_dims"):
        return None
    axis %= len(shape)
    taken = _progression(indices, shape[axis], attribute(call_, "mode"))
    if taken is None:
        return None
    begin, end = taken.start, taken.stop if taken.stop >= 0 else None
    cut = call(
        "strided_slice", data, begin=(begin,), end=(end,), strides=(taken.step,), axes=(axis,)
    )
    return cut if indices.ndim == 1 else reshape(cut, result)


def _progression(indices: np.ndarray, size: int, mode: str) -> range | None:
    """The positions that indices of an axis stand for, if each is as far from the next."""
    wide = indices.astype(np.int64).reshape(-1)
    match mode:
        case "wrap" if size:
            wide %= size
        case "clip":
            wide = wide.clip(0, size - 1)
        case "raise":
            wide = np.where(wide < 0, wide + size, wide)
    if not wide.size or wide.min() < 0 or wide.max() >= size:
        return None
    steps = np.diff(wide)
    step = int(steps[0]) if steps.size else 1
    if step == 0 or np.any(steps != step):
        return None
    return range(int(wide[0]), int(wide[-1]) + (1 if step > 0 else -1), step)


def rows_among_zeros(call_: Call) -> Expr | None:
    """scatter_nd(zeros, [[2, 3]], x) is x between two rows of zeros and what is behind them.

    So what is taken at known indices has slices for its adjoint.
    """
    data, rows, updates = call_.arguments
    shape, indices, taken = static_shape(data), constant_data(rows), static_shape(updates)
    if not shape or indices is None or taken is None or uniform_value(data) != 0:
        return None
    if attribute(call_, "mode") not in ("update", "add") or len(indices) != 1 or not indices.size:
        return None
    first, size = int(indices.flat[0]), indices.size
    if not np.array_equal(indices.reshape(-1), np.arange(first, first + size)):
        return None
    if first < 0 or first + size > shape[0]:
        return None
    wanted = (size, *shape[1:])
    part = updates if taken == wanted else reshape(updates, wanted)
    assert isinstance(data, Constant)
    widths = ((first, shape[0] - first - size), *((0, 0) for _ in shape[1:]))
    if not any(map(any, widths)):
        return part
    return call("nn.pad", part, constant_of(np.zeros((), data.data.dtype)), pad_width=widths)


RULES: RuleTable = {"take": (evenly_spaced,), "scatter_nd": (rows_among_zeros,)}
