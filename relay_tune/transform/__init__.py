"""Module to module passes; fusion is the last of them.

pipeline          the passes of a build, in order
module_pass       what a pass is, and helpers to write one; effects
language          passes of the language: normal forms, closures, partial evaluation
layout            which layout convolutions and their neighbours run in
fusion            which calls share a kernel
fix_input_shapes  inputs with fixed shapes; bind_parameters makes them constants
"""
