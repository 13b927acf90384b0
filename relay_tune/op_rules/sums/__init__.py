"""Terms of a sum that are one term together.

rule            what a rule is
table           the rules, in the order in which they are asked
concatenations  operands of terms, one after the other
moved           terms that are zero but for a part of one axis
products        products of matrices
columns         sums over rows
"""
