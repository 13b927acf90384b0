"""Passes' knowledge of operators: a table a concern, from operators to rules.

table          what a table of rules is
layout         how an operator runs on tensors whose axes have another order in memory
simplify       which calls mean the same as fewer or cheaper ones
fusion         how operators take part in kernels
indices        which arguments are indices, where they come from, what values integers have
fold           what can be computed before a program runs: scales of weights, shapes
padding        who reads elements around its data
columns        whose columns can be computed apart
convolution    all of that for a convolution, at once
parallel       how calls on parts of channels are one call

Passes ask these tables and decide by no operator's name. A rule may use any operator, which the
file of an operator in `relay_tune.op` may not. Files in the folders are named as those of `op`.
"""

from relay_tune.op_rules import convolution

__all__ = ["convolution"]
