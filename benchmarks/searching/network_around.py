"""The network around a kernel that is measured by itself."""

NETWORK_BYTES = 50 << 20
"""What it is taken to touch between two runs: weights come from memory, as they do there."""


def network_bytes() -> int:
    """What runners of single kernels are told that the network touches."""
    return NETWORK_BYTES
