"""What long bodies of loops cost that stream through packed weights.

Prefetchers of the first cache follow each load instruction by itself: from one iteration to the
next it moves on by all that the body reads. They follow strides up to about two kilobytes; near
that, some processors fetch what is wanted much later and wait for what is wanted now.

Measured with matrices of 256 KB in the second cache, a core of a server with Zen 5, microseconds:
bodies that read 0.5, 1, 1.5 and 1.75 KB 1.5 to 1.7, bodies of 2, 3 and 4 KB 2.2 to 2.3, whatever
tile and unrolling they consist of. The same loop in C: 1.43 with 1 KB, 2.1 with 2 and 4 KB.
"""

from __future__ import annotations

from relay_tune.machine.machine import Machine
from relay_tune.tensor.streamed import is_streamed


def stride_cycles(weights: float, in_body: float, uses: float, machine: Machine) -> float:
    """Cycles that a body which reads so many bytes of the weights costs in each call.

    Arguments: the bytes of all weights and those that one body reads, and how often each is used.
    """
    known = machine.coefficients
    if not is_streamed(uses) or in_body <= known.longest_stride:
        return 0.0
    return known.unfollowed * weights / machine.memories[1].rate
