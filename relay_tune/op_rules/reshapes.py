"""The operators that keep the order of elements and change the shape only."""

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "reshape_like")
