"""Every operator, once: attributes, type relation, computation, reference.

Importing this package registers all operators.
"""

from relay_tune.op import (
    nn_conv,
    nn_conv_transpose,
)

__all__ = [
    "nn_conv",
    "nn_conv_transpose",
]
