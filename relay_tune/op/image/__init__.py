"""The operators on images: image.*."""

from relay_tune.op.image import grid_sample, resize

__all__ = [
    "grid_sample",
    "resize",
]
