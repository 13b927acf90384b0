"""What it costs that sums of halves and their products outgrow the second cache.

One core of an AMD server processor (Zen 5, 1 MB of second cache), rows x depth x columns, strassen
divided by direct: measured, estimated without this, and with it.

    128 x 3072 x 768     .94   .91   .92        1024 x 512 x 512     1.05   .95  1.04
    196 x 1024 x 512     .93   .94   .94        784 x 512 x 256      1.01   .98  1.05
    288 x 256 x 1024     .97   .97   .97        784 x 264 x 1000     1.08   .96  1.07
    384 x 256 x 1024    1.00   .96  1.00        560 x 200 x 2000     1.12   .98  1.12
    1024 x 1024 x 1024   .98   .90   .96        512 x 256 x 1024     1.09   .95  1.03

In another hour, two inputs: 1024 1.05, .93 and 1.03; 1536 1.00, .98 and 1.02; 2048 .93, .98 and
.99 (1.03 if all of its 120 MB were charged).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import Machine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.size import nominal


def outgrown_cycles(between: Iterable[Tensor], machine: Machine) -> float:
    """Cycles in which what lies between nests moves to the third cache and back.

    What leaves all of that one, too, the nests know themselves: each of its tensors does.
    """
    taken = sum(nominal(prod(t.shape)) * DTYPES[t.dtype].itemsize for t in between)
    known = machine.coefficients
    whole = machine.memories[2].bytes / known.shared_filled
    beyond = max(min(taken, whole) - known.halves_kept * machine.memories[1].bytes, 0)
    return known.halves_transfers * beyond / machine.memories[2].rate
