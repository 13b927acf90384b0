"""Terms that are zero but for a part of one axis: parts that do not overlap are concatenated.

before: add(nn.pad(%x, 0f, ((0, 16), (0, 0))), nn.pad(%y, 0f, ((16, 0), (0, 0))))
after:  concatenate((%x, %y))

What is read in slices has such an adjoint.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import reduce

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, static_shape, uniform_value
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.sums.rule import TermRule
from relay_tune.op_rules.typed import call, recall


def _key(pad: Call) -> Hashable | None:
    """The axis along which zeros are added, if it is one."""
    widths = attribute(pad, "pad_width")
    axes = [axis for axis, pair in enumerate(widths) if any(pair)]
    if len(axes) != 1 or min(widths[axes[0]]) < 0 or static_shape(pad) is None:
        return None
    if attribute(pad, "pad_mode") != "constant" or uniform_value(pad.arguments[1]) != 0:
        return None
    return axes[0]


def _joined(pads: Sequence[Call], concatenations: Concatenations) -> Expr | None:
    """The parts one after the other, with zeros around them; None where they leave gaps."""
    axis = next(axis for axis, pair in enumerate(attribute(pads[0], "pad_width")) if any(pair))
    parts: dict[tuple[int, int], list[Expr]] = {}
    for pad in pads:
        before, after = attribute(pad, "pad_width")[axis]
        parts.setdefault((before, (static_shape(pad) or ())[axis] - after), []).append(
            pad.arguments[0]
        )
    positions = sorted(parts)
    if any(left[1] != right[0] for left, right in zip(positions, positions[1:], strict=False)):
        return None
    added = [
        reduce(lambda left, right: call("add", left, right), parts[each]) for each in positions
    ]
    whole = concatenations.of(added, axis)
    widths = list(attribute(pads[0], "pad_width"))
    widths[axis] = positions[0][0], (static_shape(pads[0]) or ())[axis] - positions[-1][1]
    if not any(widths[axis]):
        return whole
    return recall(pads[0], (whole, *pads[0].arguments[1:]), pad_width=tuple(widths))


RULES: Mapping[str, TermRule] = {"nn.pad": TermRule(_key, _joined)}
