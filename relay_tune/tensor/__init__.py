"""Tensor expressions and loop nests of primitives.

expression, tensor           what one element is, and tensors by how they come about
size, index                  sizes known at run time only; index arithmetic; affine forms (affine)
evaluate, scalar_semantics   the meaning of expressions in numpy
loops, run_loops             loop nests, and their meaning, statement by statement
walk, dependencies, touched  walks over expressions, tensors and loops
streamed                     constants that a call waits for
expression_text, loops_text  for people
"""
